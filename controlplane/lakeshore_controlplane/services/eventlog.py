"""The tailable log of a namespace: what workers report and what the control plane does, by queue."""

from __future__ import annotations

from typing import Any

import msgpack

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.faults import BadRequest, PayloadTooLarge
from lakeshore_controlplane.store.mongo.events import EventStore

LARGEST_DATA = 64 * 1024
KEPT_S = 7 * 24 * 3600.0
_MOST_LISTED = 1_000
_LONGEST_TEXT = 512


class EventLog:
    """Adds lines and lists them."""

    def __init__(self, *, rows: EventStore, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    async def add(
        self,
        namespace: str,
        *,
        kind: str,
        queue: str,
        invocation: str | None = None,
        worker: str | None = None,
        data: object = None,
    ) -> None:
        """Add one line. ``data`` is any value that msgpack takes, up to 64 KiB packed (``PayloadTooLarge``)."""
        fields: dict[str, Any] = {"kind": kind, "queue": queue}
        if invocation is not None:
            fields["invocationId"] = invocation
        if worker is not None:
            fields["workerId"] = worker
        for name, text in fields.items():
            _check_text(name, text)
        if data is not None:
            # Packed, for BSON takes neither every key nor every integer that a worker may send.
            fields["data"] = _packed(data)
        await self._rows.add(namespace, self._clock.steady(), fields)

    async def list(
        self, namespace: str, *, queue: str | None = None, limit: int = 50
    ) -> list[dict[str, object]]:
        """Give up to ``limit`` (at most 1,000) lines of the last week, newest first.

        A line is ``{at, kind, queue, invocation, worker, data}``.
        """
        if limit < 1:
            return []
        since = self._clock.steady() - KEPT_S
        found = await self._rows.newest(namespace, queue, min(limit, _MOST_LISTED), since)
        return [_shown(row) for row in found]

    async def forget_old(self, namespace: str) -> int:
        """Delete lines older than a week; how many went."""
        return await self._rows.delete_before(namespace, self._clock.steady() - KEPT_S)


def _check_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"{name} of an event must be text that has a UTF-8 form") from None
    if len(text) > _LONGEST_TEXT or "\0" in text:
        raise BadRequest(f"{name} of an event: use at most {_LONGEST_TEXT} characters without NUL")


def _packed(data: object) -> bytes:
    try:
        packed: bytes = msgpack.packb(data, unicode_errors="surrogatepass")
    except (TypeError, ValueError, OverflowError) as exc:
        raise BadRequest(f"an event's data cannot be packed: {str(exc)[:120]}") from exc
    if len(packed) > LARGEST_DATA:
        raise PayloadTooLarge(
            f"an event's data of {len(packed)} bytes is above the limit of {LARGEST_DATA}: send less of it"
        )
    return packed


def _shown(row: dict[str, Any]) -> dict[str, object]:
    data = row.get("data")
    return {
        "at": row["at"],
        "kind": row["kind"],
        "queue": row["queue"],
        "invocation": row.get("invocationId"),
        "worker": row.get("workerId"),
        "data": None
        if data is None
        else msgpack.unpackb(data, unicode_errors="surrogatepass", strict_map_key=False),
    }
