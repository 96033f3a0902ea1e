"""Frame journals: append once, read in order and without a gap, trim from the front.

A journal belongs to an id, which need not be an invocation's: topics have journals too. Frames feed readers; the
outcome lies on the invocation's row, whatever becomes of its journal.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.names import check_journal
from dreamlake.lakeshore.dispatch.plane import TERMINAL_STATES, Frame
from dreamlake.lakeshore.dispatch.sqlite.completions import RECHECK_S
from dreamlake.lakeshore.dispatch.sqlite.finishing import fenced
from dreamlake.lakeshore.dispatch.sqlite.store import Store, Transaction
from dreamlake.lakeshore.errors import RefusedError

_PAGE = 512
_PAGE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class _Head:
    """What is known of a journal beside its frames."""

    next_seq: int = 0
    floor: int = 0
    final_seq: int | None = None


_HEAD = "SELECT next_seq, floor, final_seq FROM journal WHERE ns = ? AND inv_id = ?"


def append(store: Store, inv_id: str, seq: int | None, data: bytes, *, final: bool) -> int:
    """Append one frame and give its seq; None takes the next one."""
    check_journal(inv_id)
    with store.write() as tx:
        head = _head(tx, inv_id)
        taken = head.next_seq if seq is None else seq
        _append(tx, inv_id, head, [Frame(taken, data, final)])
        tx.topics.add(f"journal:{inv_id}")
    return taken


def append_many(store: Store, inv_id: str, frames: Sequence[Frame], worker_id: str | None) -> None:
    """Append in one transaction; with ``worker_id`` only while that worker holds the lease (``FencedError``)."""
    check_journal(inv_id)
    with store.write() as tx:
        if worker_id is not None:
            held = tx.run(
                "SELECT 1 FROM invocation WHERE ns = ? AND id = ? AND state = 'running' AND worker = ?",
                (tx.ns, inv_id, worker_id),
            ).fetchone()
            if held is None:
                raise fenced(tx, inv_id, worker_id)
        if frames:
            _append(tx, inv_id, _head(tx, inv_id), frames)
            tx.topics.add(f"journal:{inv_id}")


def _head(tx: Transaction, inv_id: str) -> _Head:
    row = tx.run(_HEAD, (tx.ns, inv_id)).fetchone()
    return _Head() if row is None else _Head(*row)


def _append(tx: Transaction, inv_id: str, head: _Head, frames: Sequence[Frame]) -> None:
    after = _plan(inv_id, head, frames)
    tx.conn.executemany(
        "INSERT INTO frame (ns, inv_id, seq, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(tx.ns, inv_id, frame.seq, frame.data) for frame in frames if frame.seq >= head.floor],
    )
    if after != head:
        tx.run(
            "INSERT INTO journal (ns, inv_id, next_seq, final_seq) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET next_seq = excluded.next_seq, final_seq = excluded.final_seq",
            (tx.ns, inv_id, after.next_seq, after.final_seq),
        )


def _plan(inv_id: str, head: _Head, frames: Sequence[Frame]) -> _Head:
    """Work out the head after these frames. Raises ``RefusedError`` for one that cannot follow."""
    for frame in frames:
        if frame.seq < 0:
            raise RefusedError(f"journal {inv_id}: seq {frame.seq} is below 0; the first frame has seq 0")
        if head.final_seq is not None and frame.seq > head.final_seq:
            raise RefusedError(
                f"journal {inv_id} ended with frame {head.final_seq}: frame {frame.seq} cannot follow; "
                "use another journal"
            )
        if frame.final and frame.seq != head.final_seq:
            if frame.seq < head.next_seq - 1:
                raise RefusedError(
                    f"journal {inv_id}: frame {frame.seq} cannot be the last, frame {head.next_seq - 1} is there"
                )
            head = replace(head, final_seq=frame.seq)
        if frame.seq >= head.next_seq:
            head = replace(head, next_seq=frame.seq + 1)
    return head


@dataclass(frozen=True, slots=True)
class _Page:
    """Frames that follow a cursor without a gap, and what one snapshot says about more."""

    frames: list[tuple[int, bytes]]
    ended: bool
    missing: int | None = None


def read(store: Store, inv_id: str, since: int, timeout: float) -> Iterator[tuple[int, bytes]]:
    """Yield ``(seq, frame)`` after ``since``, gapless and in order, until final or a terminal state.

    Raises ``TimeoutError`` when nothing new comes for ``timeout`` seconds, ``DispatchError`` when the journal has
    ended and a frame before its end never came.
    """
    check_journal(inv_id)
    page = _page(store, inv_id, since)
    listener = None
    try:
        quiet_since = time.monotonic()
        while True:
            for seq, data in page.frames:
                yield seq, data
                since = seq
            if page.frames:
                quiet_since = time.monotonic()
            elif page.ended:
                if page.missing is not None:
                    raise verdicts.journal_gap(inv_id, page.missing)
                return
            elif listener is None and timeout > 0:
                listener = store.wakeups.listen(f"journal:{inv_id}")
            else:
                left = quiet_since + timeout - time.monotonic()
                if left <= 0 or listener is None:
                    raise verdicts.journal_quiet(inv_id, since, timeout)
                listener.wait(min(left, RECHECK_S))
            page = _page(store, inv_id, since)
    finally:
        if listener is not None:
            listener.close()


def _page(store: Store, inv_id: str, since: int) -> _Page:
    """Read what follows ``since`` in one snapshot. A trimmed head is no gap, a frame not yet there is one."""
    with store.read() as conn:
        row = conn.execute(_HEAD, (store.ns, inv_id)).fetchone()
        head = _Head() if row is None else _Head(*row)
        state = conn.execute(
            "SELECT state FROM invocation WHERE ns = ? AND id = ?", (store.ns, inv_id)
        ).fetchone()
        expected = max(since + 1, head.floor)
        frames: list[tuple[int, bytes]] = []
        size, complete = 0, True
        for seq, data in conn.execute(
            "SELECT seq, data FROM frame WHERE ns = ? AND inv_id = ? AND seq >= ? ORDER BY seq LIMIT ?",
            (store.ns, inv_id, expected, _PAGE),
        ):
            if seq != expected or size > _PAGE_BYTES:
                break
            frames.append((seq, data))
            size += len(data)
            expected += 1
    ended = state is not None and state[0] in TERMINAL_STATES
    if head.final_seq is not None:
        ended = True
    last = head.next_seq - 1 if head.final_seq is None else head.final_seq
    complete = expected > last
    return _Page(frames, ended, None if complete else expected)


def trim(store: Store, inv_id: str, keep_last: int) -> int:
    """Drop all but the last ``keep_last`` frames; how many went."""
    check_journal(inv_id)
    with store.write() as tx:
        head = _head(tx, inv_id)
        floor = max(head.floor, head.next_seq - max(0, keep_last))
        tx.run("UPDATE journal SET floor = ? WHERE ns = ? AND inv_id = ?", (floor, tx.ns, inv_id))
        gone = tx.run(
            "DELETE FROM frame WHERE ns = ? AND inv_id = ? AND seq < ?", (tx.ns, inv_id, floor)
        ).rowcount
        tx.topics.add(f"journal:{inv_id}")
    return gone
