"""Claiming: bring the queue up to date, choose rows in the queue's order, lease them."""

# ruff: noqa: S608 - statements are put together from this module's own constants
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

from dreamlake.lakeshore.dispatch.arguments import check_claim
from dreamlake.lakeshore.dispatch.names import check_queue
from dreamlake.lakeshore.dispatch.plane import Backoff, Claimed
from dreamlake.lakeshore.dispatch.sqlite.boltzmann import draw_levels
from dreamlake.lakeshore.dispatch.sqlite.finishing import crash, end
from dreamlake.lakeshore.dispatch.sqlite.queues import touch
from dreamlake.lakeshore.dispatch.sqlite.store import Store, Transaction
from dreamlake.lakeshore.errors import ErrorInfo

_BATCH = 1000
"""Rows that one claim brings up to date: a bound on how long it holds the write lock."""

_Chosen: TypeAlias = tuple[int, str, bytes, int, float | None, int | None, float | None, float | None, int]
_COLUMNS = "seq, id, envelope, attempt, timeout_s, retries, backoff_base_s, backoff_cap_s, crashes"
_READY = "ns = ? AND queue = ? AND state = 'queued' AND due IS NULL"
_WAITING = f"""SELECT
    EXISTS (SELECT 1 FROM invocation WHERE {_READY})
    OR EXISTS (SELECT 1 FROM invocation WHERE ns = ? AND queue = ? AND state = 'queued' AND due <= ?)
    OR EXISTS (SELECT 1 FROM invocation WHERE ns = ? AND queue = ? AND state = 'queued' AND deadline <= ?)
    OR EXISTS (SELECT 1 FROM invocation WHERE ns = ? AND queue = ? AND state = 'running' AND lease_until <= ?)"""
_LEASE = """UPDATE invocation SET state = 'running', attempt = attempt + 1, worker = ?, lease_until = ?,
    started_at = ? WHERE seq = ? AND state = 'queued'"""
_CLOSED = "SELECT 1 FROM queue WHERE ns = ? AND name = ? AND state <> 'active'"


def claim_many(
    store: Store, queue: str, worker_id: str, n: int, *, kind: str, temperature: float, lease_s: float
) -> list[Claimed]:
    """Lease up to ``n`` invocations in the order of ``kind``, in one transaction."""
    check_claim(queue, worker_id, kind, temperature, lease_s)
    if n < 1 or not _something_waits(store, queue):
        return []
    with store.write() as tx:
        if tx.run(_CLOSED, (tx.ns, queue)).fetchone():
            return []
        _bring_up_to_date(tx, queue)
        chosen = _choose(store, tx, queue, n, kind=kind, temperature=temperature)
        until = tx.lease_now + lease_s
        tx.conn.executemany(_LEASE, [(worker_id, until, tx.now, row[0]) for row in chosen])
        if chosen:
            touch(tx, queue)
    return [_claimed(queue, row) for row in chosen]


def _something_waits(store: Store, queue: str) -> bool:
    """Look before taking the write lock, which an idle worker must not take from the others."""
    who, now = (store.ns, queue), store.now()
    return bool(store.rows(_WAITING, (*who, *who, now, *who, now, *who, store.lease_now()))[0][0])


def _bring_up_to_date(tx: Transaction, queue: str) -> None:
    """Requeue expired leases, let delayed rows start whose time has come, end those past their deadline."""
    who = (tx.ns, queue, tx.now)
    for seq, attempt, crashes, worker in tx.run(
        "SELECT seq, attempt, crashes, worker FROM invocation WHERE ns = ? AND queue = ?"
        f" AND state = 'running' AND lease_until <= ? ORDER BY lease_until LIMIT {_BATCH}",
        (tx.ns, queue, tx.lease_now),
    ).fetchall():
        lost = ErrorInfo(
            "WorkerLost",
            f"worker {worker} stopped renewing its lease during attempt {attempt}: "
            "it was killed, ran out of memory, or was frozen",
        )
        if crash(tx, seq, queue, crashes, lost, retry=True, delay_s=0.0):
            _wake_journal(tx, seq)
    tx.run(
        "UPDATE invocation SET queued_at = due, due = NULL WHERE state = 'queued' AND seq IN"
        " (SELECT seq FROM invocation WHERE ns = ? AND queue = ? AND state = 'queued' AND due <= ?"
        f" ORDER BY due LIMIT {_BATCH})",
        who,
    )
    for (seq,) in tx.run(
        "SELECT seq FROM invocation WHERE ns = ? AND queue = ? AND state = 'queued' AND deadline <= ?", who
    ).fetchall():
        end(
            tx,
            seq,
            queue,
            "failed",
            ErrorInfo("DeadlineExceeded", "its deadline passed before it could start"),
        )
        _wake_journal(tx, seq)


def _wake_journal(tx: Transaction, seq: int) -> None:
    tx.topics.add("journal:" + tx.run("SELECT id FROM invocation WHERE seq = ?", (seq,)).fetchone()[0])


def _choose(
    store: Store, tx: Transaction, queue: str, n: int, *, kind: str, temperature: float
) -> list[_Chosen]:
    if kind == "filo":
        return _newest_first(tx, queue, n)
    if kind == "boltzmann":
        return _drawn(store, tx, queue, n, temperature)
    return tx.run(
        f"SELECT {_COLUMNS} FROM invocation WHERE {_READY} ORDER BY priority DESC, seq LIMIT ?",
        (tx.ns, queue, n),
    ).fetchall()


def _of_level(tx: Transaction, queue: str, level: float, n: int, order: str) -> list[_Chosen]:
    return tx.run(
        f"SELECT {_COLUMNS} FROM invocation WHERE {_READY} AND priority = ? ORDER BY seq {order} LIMIT ?",
        (tx.ns, queue, level, n),
    ).fetchall()


def _newest_first(tx: Transaction, queue: str, n: int) -> list[_Chosen]:
    """Go level by level, since no index has priority falling and seq falling with it."""
    found: list[_Chosen] = []
    for level in _levels(tx, queue):
        found += _of_level(tx, queue, level, n - len(found), "DESC")
        if len(found) >= n:
            break
    return found


def _levels(tx: Transaction, queue: str) -> Iterator[float]:
    below = math.inf
    while True:
        row = tx.run(
            f"SELECT priority FROM invocation WHERE {_READY} AND priority < ? ORDER BY priority DESC LIMIT 1",
            (tx.ns, queue, below),
        ).fetchone()
        if row is None:
            return
        below = float(row[0])
        yield below


def _drawn(store: Store, tx: Transaction, queue: str, n: int, temperature: float) -> list[_Chosen]:
    """Draw a level for each place, then take the oldest of each level in the order of the draws."""
    counts = {
        float(level): int(count)
        for level, count in tx.run(
            f"SELECT priority, count(*) FROM invocation WHERE {_READY} GROUP BY priority",
            (tx.ns, queue),
        )
    }
    draws = draw_levels(counts, temperature, n, store.rng)
    rows = {level: iter(_of_level(tx, queue, level, draws.count(level), "ASC")) for level in set(draws)}
    return [next(rows[level]) for level in draws]


def _claimed(queue: str, row: _Chosen) -> Claimed:
    _seq, inv_id, envelope, attempt, timeout_s, retries, base_s, cap_s, crashes = row
    backoff = None if base_s is None or cap_s is None else Backoff(base_s, cap_s)
    return Claimed(inv_id, envelope, attempt + 1, queue, timeout_s, retries, backoff, crashes)


def next_due(store: Store, queue: str) -> float | None:
    """Seconds until a delayed row, a deadline or an expiring lease wants a claim; None while the queue gives none."""
    check_queue(queue)
    who = (store.ns, queue)
    with store.read() as conn:
        if conn.execute(_CLOSED, who).fetchone():
            return None
        times = conn.execute(
            """SELECT
            (SELECT min(due) FROM invocation WHERE ns = ? AND queue = ? AND state = 'queued' AND due IS NOT NULL),
            (SELECT min(deadline) FROM invocation
             WHERE ns = ? AND queue = ? AND state = 'queued' AND deadline IS NOT NULL),
            (SELECT min(lease_until) FROM invocation WHERE ns = ? AND queue = ? AND state = 'running')""",
            (*who, *who, *who),
        ).fetchone()
    clocks = (store.now(), store.now(), store.lease_now())
    left = [float(at) - now for at, now in zip(times, clocks, strict=True) if at is not None]
    return max(0.0, min(left)) if left else None
