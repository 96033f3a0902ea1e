"""Queues: their declaration, their lifecycle, and the tallies that no row can give back.

What is waiting or running is always counted from the rows. Only what the rows forget is tallied beside them, in the
same transactions: how many have ever arrived and succeeded, and how long they took.
"""

# ruff: noqa: S608 - statements are put together from this module's own constants
from __future__ import annotations

from typing import Any

from dreamlake.lakeshore.dispatch.arguments import check_declaration, check_queue_state, check_state
from dreamlake.lakeshore.dispatch.names import check_queue
from dreamlake.lakeshore.dispatch.plane import STATES, QueueRecord
from dreamlake.lakeshore.dispatch.sqlite.store import Store, Transaction
from dreamlake.lakeshore.dispatch.verdicts import no_such_queue
from dreamlake.lakeshore.errors import QueueUnavailableError

_MEAN_OVER = 200
"""Successes that the mean duration looks back on: exactly for the first ones, with fading weights after that."""
_COLUMNS = "name, kind, state, temperature"

COUNTS: dict[str, str] = {
    "queued": "state = 'queued'",
    "running": "state = 'running'",
    **{state: f"state = '{state}' AND finish_seq IS NOT NULL" for state in STATES[2:]},
}
"""For each state the condition that an index of ours covers; queued rows lie in two of them."""


def admit(tx: Transaction, queue: str, arrived: int) -> None:
    """Tally new rows. Raises ``QueueUnavailableError`` when the queue takes none."""
    state = tx.run(
        "INSERT INTO queue (ns, name, arrived, revision) VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE"
        " SET arrived = arrived + excluded.arrived, revision = revision + 1 RETURNING state",
        (tx.ns, queue, arrived),
    ).fetchone()[0]
    if state != "active":
        raise QueueUnavailableError(
            f"queue {queue!r} is {state} and takes no new work: "
            f"open it again with `lakeshore queues unarchive {queue}`, or submit to another queue"
        )


def touch(tx: Transaction, queue: str) -> None:
    """Note that something about the queue has changed."""
    tx.run("UPDATE queue SET revision = revision + 1 WHERE ns = ? AND name = ?", (tx.ns, queue))


def count_finished(tx: Transaction, first: int, worker_id: str) -> None:
    """Tally the successes numbered ``first`` and up, which this transaction has just written."""
    for queue, count, mean in tx.run(
        "SELECT queue, count(*), avg(finished_at - started_at) FROM invocation"
        " WHERE finish_seq >= ? AND state = 'succeeded' GROUP BY queue",
        (first,),
    ).fetchall():
        tx.run(
            "UPDATE queue SET revision = revision + 1, finished = finished + ?1,"
            " mean_duration_s = coalesce(mean_duration_s, 0.0) + (?2 - coalesce(mean_duration_s, 0.0))"
            f" * min(1.0, ?1 * 1.0 / min(finished + ?1, {_MEAN_OVER})) WHERE ns = ?3 AND name = ?4",
            (count, mean, tx.ns, queue),
        )
    tx.run("UPDATE worker SET idle_since = ? WHERE ns = ? AND id = ?", (tx.now, tx.ns, worker_id))


def count(store: Store, queue: str, state: str) -> int:
    """Count the rows of a queue in one state."""
    check_queue(queue)
    check_state(state)
    who = (store.ns, queue)
    if state == "queued":
        return int(
            store.rows(
                "SELECT (SELECT count(*) FROM invocation"
                " WHERE ns = ? AND queue = ? AND state = 'queued' AND due IS NULL)"
                " + (SELECT count(*) FROM invocation"
                " WHERE ns = ? AND queue = ? AND state = 'queued' AND due IS NOT NULL)",
                (*who, *who),
            )[0][0]
        )
    return int(
        store.rows(f"SELECT count(*) FROM invocation WHERE ns = ? AND queue = ? AND {COUNTS[state]}", who)[0][
            0
        ]
    )


def declare(store: Store, record: QueueRecord) -> None:
    """Create the queue or change its kind; an existing one keeps its lifecycle state."""
    check_declaration(record)
    with store.write() as tx:
        tx.run(
            "INSERT INTO queue (ns, name, kind, state, temperature, declared, revision) VALUES (?, ?, ?, ?, ?, 1, 1)"
            " ON CONFLICT DO UPDATE SET kind = excluded.kind, temperature = excluded.temperature,"
            " declared = 1, revision = revision + 1",
            (tx.ns, record.name, record.kind, record.state, record.temperature),
        )


def set_state(store: Store, name: str, state: str) -> None:
    """Move a queue through its lifecycle. Raises ``DispatchError`` when there is no such queue."""
    check_queue_state(state)
    with store.write() as tx:
        changed = tx.run(
            "UPDATE queue SET state = ?, declared = 1, revision = revision + 1 WHERE ns = ? AND name = ?",
            (state, tx.ns, name),
        ).rowcount
        if not changed:
            raise no_such_queue(name)
        tx.topics.add(f"work:{name}")


def record(store: Store, name: str) -> QueueRecord | None:
    """Give the declared queue, or None."""
    check_queue(name)
    rows = store.rows(
        f"SELECT {_COLUMNS} FROM queue WHERE ns = ? AND name = ? AND declared",
        (store.ns, name),
    )
    return _record(rows[0]) if rows else None


def listing(store: Store) -> list[QueueRecord]:
    """List declared queues and those that have rows, by name."""
    rows = store.rows(
        f"""SELECT {_COLUMNS} FROM queue WHERE ns = ? AND (declared
        OR EXISTS (SELECT 1 FROM invocation i WHERE i.ns = queue.ns AND i.queue = queue.name
                   AND i.state = 'queued' AND i.due IS NULL)
        OR EXISTS (SELECT 1 FROM invocation i WHERE i.ns = queue.ns AND i.queue = queue.name
                   AND i.state = 'queued' AND i.due IS NOT NULL)
        OR EXISTS (SELECT 1 FROM invocation i WHERE i.ns = queue.ns AND i.queue = queue.name
                   AND i.state = 'running')
        OR EXISTS (SELECT 1 FROM invocation i WHERE i.ns = queue.ns AND i.queue = queue.name
                   AND i.finish_seq IS NOT NULL)) ORDER BY name""",
        (store.ns,),
    )
    return [_record(row) for row in rows]


def _record(row: tuple[Any, ...]) -> QueueRecord:
    name, kind, state, temperature = row
    return QueueRecord(name, kind, state, temperature)
