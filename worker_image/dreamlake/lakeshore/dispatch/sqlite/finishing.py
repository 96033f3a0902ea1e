"""Ending attempts: acknowledged, failed, tried again, cancelled. Every change is guarded by the fence."""

# ruff: noqa: S608 - statements are put together from this module's own constants
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from dreamlake.lakeshore.dispatch.plane import DEFAULT_MAX_ATTEMPTS, Finished
from dreamlake.lakeshore.dispatch.sqlite.queues import count_finished, touch
from dreamlake.lakeshore.dispatch.sqlite.store import Store, Transaction
from dreamlake.lakeshore.errors import ErrorInfo, FencedError

_CHUNK = 500
_SUCCEED = """UPDATE invocation SET state = 'succeeded', result = ?, finish_seq = ?, finished_at = ?,
    lease_until = NULL, error = NULL
    WHERE ns = ? AND id = ? AND state = 'running' AND worker = ? AND attempt = ?"""
_HELD = """SELECT seq, queue, attempt, crashes FROM invocation
    WHERE ns = ? AND id = ? AND state = 'running' AND worker = ?"""
_END = """UPDATE invocation SET state = ?, error = ?, finish_seq = ?, finished_at = ?, crashes = crashes + ?,
    lease_until = NULL, due = NULL WHERE seq = ? AND state IN ('queued', 'running')"""
_REQUEUE = """UPDATE invocation SET state = 'queued', error = ?, due = ?, crashes = crashes + ?,
    worker = NULL, lease_until = NULL WHERE seq = ? AND state = 'running'"""


def encode_error(error: ErrorInfo) -> str:
    """Spell an error for its column; whatever characters it holds."""
    return json.dumps(error.to_dict())


def decode_error(text: str | None) -> ErrorInfo | None:
    """Read an error from its column."""
    return None if text is None else ErrorInfo.from_dict(json.loads(text))


def error_of(given: ErrorInfo | dict[str, str] | str) -> ErrorInfo:
    """Take an error in any of the forms that ``nack`` takes."""
    return given if isinstance(given, ErrorInfo) else ErrorInfo.from_dict(given)


def ack_many(store: Store, worker_id: str, items: Sequence[Finished]) -> set[str]:
    """Report attempts in one transaction; the ids that were fenced."""
    if not items:
        return set()
    with store.write() as tx:
        # Journals are woken as well: an invocation's end is the end of its stream.
        tx.topics.add("done")
        tx.topics.update(f"journal:{item.id}" for item in items)
        if not _all_succeed(tx, worker_id, items):
            return {item.id for item in items if not _finish_one(tx, worker_id, item)}
        return set()


def _all_succeed(tx: Transaction, worker_id: str, items: Sequence[Finished]) -> bool:
    """Do the common case at once: all succeeded, none is fenced. Else change nothing and give False."""
    if any(item.error is not None for item in items):
        return False
    first = tx.take_finish_numbers(len(items))
    tx.run("SAVEPOINT acks")
    changed = tx.conn.executemany(
        _SUCCEED,
        [
            (item.result, number, tx.now, tx.ns, item.id, worker_id, item.attempt)
            for number, item in enumerate(items, first)
        ],
    ).rowcount
    if changed < len(items):
        tx.run("ROLLBACK TO acks")
        return False
    count_finished(tx, first, worker_id)
    return True


def _finish_one(tx: Transaction, worker_id: str, item: Finished) -> bool:
    """Report one attempt; False when it is fenced."""
    row = tx.run(_HELD, (tx.ns, item.id, worker_id)).fetchone()
    if row is None or row[2] != item.attempt:
        return False
    seq, queue, _attempt, crashes = row
    if item.error is None:
        number = tx.take_finish_numbers(1)
        fence = (tx.ns, item.id, worker_id, item.attempt)
        tx.run(_SUCCEED, (item.result, number, tx.now, *fence))
        count_finished(tx, number, worker_id)
    elif item.crashed:
        crash(tx, seq, queue, crashes, item.error, retry=item.retry, delay_s=item.delay_s)
    elif item.retry:
        requeue(tx, seq, queue, item.error, delay_s=item.delay_s)
    else:
        end(tx, seq, queue, "failed", item.error)
    if item.error is not None:
        now_idle(tx, worker_id)
    return True


def finish(store: Store, inv_id: str, worker_id: str, attempt: int | None, item: Finished) -> None:
    """Report one attempt, of whatever number when ``attempt`` is None. Raises ``FencedError``."""
    with store.write() as tx:
        if attempt is None:
            row = tx.run(_HELD, (tx.ns, inv_id, worker_id)).fetchone()
            attempt = 0 if row is None else int(row[2])
        told = Finished(inv_id, attempt, item.result, item.error, item.retry, item.delay_s, item.crashed)
        if not _finish_one(tx, worker_id, told):
            raise fenced(tx, inv_id, worker_id)
        tx.topics.update(("done", f"journal:{inv_id}"))


def fenced(tx: Transaction, inv_id: str, worker_id: str) -> FencedError:
    """Say why a worker's word on an invocation no longer counts."""
    row = tx.run(
        "SELECT state, attempt, worker FROM invocation WHERE ns = ? AND id = ?", (tx.ns, inv_id)
    ).fetchone()
    if row is None:
        now = "is not on this plane"
    elif row[0] == "running":
        now = f"is running as attempt {row[1]} on {row[2]}"
    else:
        now = f"is {row[0]}"
    return FencedError(
        f"worker {worker_id} no longer holds invocation {inv_id}, which {now}: nothing was changed; "
        "drop this attempt's outcome"
    )


def crash(
    tx: Transaction, seq: int, queue: str, crashes: int, reason: ErrorInfo, *, retry: bool, delay_s: float
) -> bool:
    """Count that an attempt took its process down: tried again, or ended as poison; True when it ended."""
    crashes += 1
    if crashes >= DEFAULT_MAX_ATTEMPTS:
        poison = ErrorInfo(
            "PoisonJob",
            f"it took its worker down {crashes} times and is not tried again; "
            f"the last time: {reason.type}: {reason.message}",
            reason.traceback,
        )
        end(tx, seq, queue, "failed", poison, crashes=1)
        return True
    if not retry:
        end(tx, seq, queue, "failed", reason, crashes=1)
        return True
    requeue(tx, seq, queue, reason, delay_s=delay_s, crashes=1)
    return False


def requeue(
    tx: Transaction, seq: int, queue: str, error: ErrorInfo | None, *, delay_s: float = 0.0, crashes: int = 0
) -> None:
    """Queue a running row again, after ``delay_s`` seconds."""
    due = tx.now + delay_s if delay_s > 0 else None
    tx.run(_REQUEUE, (None if error is None else encode_error(error), due, crashes, seq))
    touch(tx, queue)
    tx.topics.add(f"work:{queue}")


def end(
    tx: Transaction, seq: int, queue: str, state: str, error: ErrorInfo | None, *, crashes: int = 0
) -> None:
    """Move a queued or running row to a terminal state other than success."""
    text = None if error is None else encode_error(error)
    tx.run(_END, (state, text, tx.take_finish_numbers(1), tx.now, crashes, seq))
    touch(tx, queue)
    tx.topics.add("done")


def now_idle(tx: Transaction, worker_id: str) -> None:
    """Note when a worker last ended something: it is idle since then, unless it holds more."""
    tx.run("UPDATE worker SET idle_since = ? WHERE ns = ? AND id = ?", (tx.now, tx.ns, worker_id))


def cancel(store: Store, ids: Iterable[str]) -> set[str]:
    """End queued or running invocations as cancelled, in one transaction; the ids of those that this ended."""
    with store.write() as tx:
        return {inv_id for inv_id in dict.fromkeys(ids) if _cancel_one(tx, inv_id)}


def _cancel_one(tx: Transaction, inv_id: str) -> bool:
    row = tx.run(
        "SELECT seq, queue, state FROM invocation WHERE ns = ? AND id = ? AND finish_seq IS NULL",
        (tx.ns, inv_id),
    ).fetchone()
    if row is None:
        return False
    seq, queue, state = row
    end(tx, seq, queue, "cancelled", None)
    tx.topics.add(f"journal:{inv_id}")
    if state == "running":
        tx.topics.add(f"work:{queue}")  # its worker looks whether it still holds everything
    return True


def release(store: Store, ids: Iterable[str], worker_id: str) -> int:
    """Hand back claims that were never started; how many were still this worker's."""
    count = 0
    with store.write() as tx:
        for inv_id in ids:
            row = tx.run(_HELD, (tx.ns, inv_id, worker_id)).fetchone()
            if row is None:
                continue
            tx.run(
                "UPDATE invocation SET state = 'queued', attempt = attempt - 1, worker = NULL,"
                " lease_until = NULL, started_at = NULL WHERE seq = ? AND state = 'running'",
                (row[0],),
            )
            touch(tx, row[1])
            tx.topics.add(f"work:{row[1]}")
            count += 1
        if count:
            now_idle(tx, worker_id)
    return count


def renew(store: Store, ids: Iterable[str], worker_id: str, lease_s: float) -> set[str]:
    """Extend the leases still held; the ids of those that are not.

    A lease whose time has passed is still held as long as no claim has taken the invocation from it.
    """
    asked = set(ids)
    lost = set(asked)
    with store.write() as tx:
        for chunk in _chunks(list(asked)):
            marks = ",".join("?" * len(chunk))
            held = tx.run(
                f"SELECT seq, id FROM invocation WHERE ns = ? AND id IN ({marks})"
                " AND state = 'running' AND worker = ?",
                (tx.ns, *chunk, worker_id),
            ).fetchall()
            tx.conn.executemany(
                "UPDATE invocation SET lease_until = ? WHERE seq = ?",
                [(tx.lease_now + lease_s, seq) for seq, _inv_id in held],
            )
            lost.difference_update(inv_id for _seq, inv_id in held)
    return lost


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]
