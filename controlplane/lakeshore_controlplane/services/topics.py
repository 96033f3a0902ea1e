"""The bells that services ring, and what an outcome looks like on its way to those who wait for it."""

from __future__ import annotations

from typing import NamedTuple

import msgpack

from lakeshore_controlplane.documents import Invocation, InvocationState
from lakeshore_controlplane.services.row_errors import error_from_row
from lakeshore_controlplane.store.bells.port import Ring
from lakeshore_controlplane.store.lane.port import QueueKey

_INLINE = 2048
"""Bytes of a result or an error that ride on the bell itself; what is larger is read from the row."""


class Outcome(NamedTuple):
    """How an invocation ended. ``result`` is inline bytes, or None with ``result_ref`` naming a blob, or neither."""

    id: str
    state: InvocationState
    attempt: int
    result: bytes | None = None
    error: dict[str, object] | None = None
    result_ref: str | None = None


def work_topic(queue: QueueKey) -> str:
    """Something became claimable in the queue, or was taken away."""
    return f"work:{queue}"


def done_topic(namespace: str) -> str:
    """An invocation of the namespace ended; payload: ``encode_outcome`` or ``encode_ended``."""
    return f"done:{namespace}"


def journal_topic(namespace: str, journal: str) -> str:
    """Frames came, or the invocation that the journal belongs to ended."""
    return f"journal:{namespace}/{journal}"


def queue_topic(queue: QueueKey) -> str:
    """The queue's document was changed: cached copies are stale."""
    return f"queue:{queue}"


def change_topic(queue: QueueKey) -> str:
    """The queue's revision moved (submit, claim, end, state): what waits for signals looks again."""
    return f"change:{queue}"


def outcome_of(row: Invocation) -> Outcome:
    """Give a terminal row's outcome."""
    return Outcome(
        row["_id"].partition("/")[2],
        row["state"],
        row["attempt"],
        row.get("resultBlob"),
        error_from_row(row.get("error")),
        row.get("resultRef"),
    )


def done_rings(namespace: str, outcomes: list[Outcome]) -> list[Ring]:
    """Give the bells of these ends: for those who wait for outcomes and for the readers of their journals."""
    topic = done_topic(namespace)
    rings = [Ring(topic, _encode(outcome)) for outcome in outcomes]
    rings += [Ring(journal_topic(namespace, outcome.id)) for outcome in outcomes]
    return rings


def looked_up_rings(namespace: str, ids: list[str]) -> list[Ring]:
    """Give the same bells for ends of which only the rows know how they came about."""
    topic = done_topic(namespace)
    rings = [Ring(topic, msgpack.packb([inv_id], unicode_errors="surrogatepass")) for inv_id in ids]
    return rings + [Ring(journal_topic(namespace, inv_id)) for inv_id in ids]


def _encode(outcome: Outcome) -> bytes:
    text = outcome.error or {}
    size = len(outcome.result or b"") + sum(len(str(part)) for part in text.values())
    small = size <= _INLINE
    packed: bytes = msgpack.packb([*outcome] if small else [outcome.id], unicode_errors="surrogatepass")
    return packed


def ended_of(payload: bytes) -> Outcome | str | None:
    """Read a bell of ``done_topic``: the outcome, or the id of one whose row has it, or None: look at all rows."""
    if not payload:
        return None
    found = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    return Outcome(*found) if len(found) > 1 else str(found[0])
