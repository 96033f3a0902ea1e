"""Frame journals over HTTP."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S
from dreamlake.lakeshore.dispatch.names import check_journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dreamlake.lakeshore.dispatch.http.requests import Repeat, Requests
    from dreamlake.lakeshore.dispatch.plane import Frame

_PAGE_BYTES = 1 << 20
_BATCH = 10_000
_BATCH_BYTES = 48 << 20


def append(requests: Requests, inv_id: str, seq: int | None, data: bytes, *, final: bool) -> int:
    """Append one frame and give its seq; None takes the next one.

    Without a seq a frame that may have arrived is not sent again: it could come twice. The error says so.
    """
    check_journal(inv_id)
    asked = {"journal": inv_id, "frames": [[seq, data, final]]}
    repeat: Repeat = "if_not_done" if seq is None else "always"
    return int(requests.post("producer/journal/append", asked, repeat=repeat)["seqs"][0])


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


def read(requests: Requests, inv_id: str, since: int, timeout: float) -> Iterator[tuple[int, bytes]]:
    """Yield ``(seq, frame)`` after ``since``, gapless and in order, until final or a terminal state.

    Raises ``TimeoutError`` when nothing new comes for ``timeout`` seconds, ``DispatchError`` when the journal has
    ended and a frame before its end never came.
    """
    check_journal(inv_id)
    quiet_since = time.monotonic()
    while True:
        left = max(0.0, quiet_since + timeout - time.monotonic())
        wait_s = min(left, LONG_POLL_S)
        asked = {"journal": inv_id, "since": since, "timeout_s": wait_s, "max_bytes": _PAGE_BYTES}
        page = requests.post("producer/journal/read", asked, wait_s=wait_s)
        for seq, data in page["entries"]:
            yield seq, data
            since = seq
        if page["missing"] is not None:
            raise verdicts.journal_gap(inv_id, page["missing"])
        if page["done"]:
            return
        if page["entries"]:
            quiet_since = time.monotonic()
        elif left <= 0:
            raise verdicts.journal_quiet(inv_id, since, timeout)


def trim(requests: Requests, inv_id: str, keep_last: int) -> int:
    """Drop all but the last ``keep_last`` frames; how many went."""
    check_journal(inv_id)
    asked = {"journal": inv_id, "keep_last": max(0, keep_last)}
    return int(requests.post("producer/journal/trim", asked)["dropped"])
