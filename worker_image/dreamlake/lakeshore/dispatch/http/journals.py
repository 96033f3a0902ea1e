"""Frame journals over HTTP."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S
from dreamlake.lakeshore.dispatch.http.steps import Ask
from dreamlake.lakeshore.dispatch.names import check_journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.http.steps import Steps
    from dreamlake.lakeshore.dispatch.plane import Frame

_PAGE_BYTES = 1 << 20
_BATCH = 10_000
_BATCH_BYTES = 48 << 20


def append(requests: Requests, inv_id: str, seq: int | None, data: bytes, *, final: bool) -> int:
    """Append one frame and give its seq; None takes the next one. Sent again after a lost answer, it is stored once."""
    check_journal(inv_id)
    asked: dict[str, object] = {"journal": inv_id, "frames": [[seq, data, final]]}
    if seq is None:
        asked["append_id"] = os.urandom(12).hex()
    return int(requests.post("producer/journal/append", asked)["seqs"][0])


def append_many(requests: Requests, inv_id: str, frames: Sequence[Frame], worker_id: str | None) -> None:
    """Append all or none; with ``worker_id`` only while that worker holds the lease (``FencedError``).

    More than one request holds (10,000 frames, 48 MiB) is appended request by request, in order.
    """
    check_journal(inv_id)
    for batch in _batches(frames):
        if worker_id is not None:
            asked = {"invocation_id": inv_id, "frames": batch, "worker_id": worker_id}
            requests.post("daemon/result-chunk", asked)
        elif batch:
            requests.post("producer/journal/append", {"journal": inv_id, "frames": batch})


def _batches(frames: Sequence[Frame]) -> Iterator[list[list[Any]]]:
    """Cut into requests: one at least, which tells a worker without frames whether it is fenced."""
    batch: list[list[Any]] = []
    size = 0
    for frame in frames:
        if batch and (len(batch) == _BATCH or size + len(frame.data) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append([frame.seq, frame.data, frame.final])
        size += len(frame.data)
    yield batch


class Reader:
    """One reading of a journal, page by page. ``timeout``: seconds that nothing new may come for."""

    def __init__(self, inv_id: str, since: int, timeout: float) -> None:
        self._journal = check_journal(inv_id)
        self._since = since
        self._timeout = timeout
        self._quiet_since = time.monotonic()
        self._missing: int | None = None
        self.done = False
        """Whether nothing can follow what was given."""

    def page(self, longest_s: float = LONG_POLL_S) -> Steps[list[tuple[int, bytes]]]:
        """Give the entries that follow, gapless and in order; none when none came for ``longest_s`` seconds.

        Raises ``TimeoutError`` when nothing new came for the whole timeout, ``DispatchError`` when the journal has
        ended and a frame before its end never came: after that of the entries before it.
        """
        if self._missing is not None:
            raise verdicts.journal_gap(self._journal, self._missing)
        left = max(0.0, self._quiet_since + self._timeout - time.monotonic())
        wait_s = min(left, longest_s)
        asked = {
            "journal": self._journal,
            "since": self._since,
            "timeout_s": wait_s,
            "max_bytes": _PAGE_BYTES,
        }
        page = yield Ask("producer/journal/read", asked, wait_s)
        entries = [(int(seq), bytes(data)) for seq, data in page["entries"]]
        self._missing = page["missing"]
        self.done = page["done"] and self._missing is None
        if entries:
            self._since = entries[-1][0]
            self._quiet_since = time.monotonic()
        elif self._missing is not None:
            raise verdicts.journal_gap(self._journal, self._missing)
        elif not self.done and left <= 0:
            raise verdicts.journal_quiet(self._journal, self._since, self._timeout)
        return entries


def read(requests: Requests, inv_id: str, since: int, timeout: float) -> Iterator[tuple[int, bytes]]:
    """Yield ``(seq, frame)`` after ``since`` until final or a terminal state. Raises as ``Reader.page`` does."""
    reader = Reader(inv_id, since, timeout)
    while not reader.done:
        yield from requests.run(reader.page())


def trim(requests: Requests, inv_id: str, keep_last: int) -> int:
    """Drop all but the last ``keep_last`` frames; how many went."""
    check_journal(inv_id)
    asked = {"journal": inv_id, "keep_last": max(0, keep_last)}
    return int(requests.post("producer/journal/trim", asked)["dropped"])
