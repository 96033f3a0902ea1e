"""Submitting: from items to rows, all or none, each id and each key once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from dreamlake.lakeshore.dispatch.arguments import check_config
from dreamlake.lakeshore.dispatch.names import check_invocation, check_queue
from dreamlake.lakeshore.dispatch.plane import RunConfig, Submission
from dreamlake.lakeshore.dispatch.sqlite.queues import admit
from dreamlake.lakeshore.dispatch.sqlite.store import Store, Transaction
from dreamlake.lakeshore.errors import DispatchError

_Row: TypeAlias = tuple[object, ...]

_INSERT = """INSERT INTO invocation
    (ns, queue, submitted_at, queued_at, id, key, priority, parent, envelope,
     retries, timeout_s, deadline, due, backoff_base_s, backoff_cap_s)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"""

_PLAIN = RunConfig()
_NO_OPTIONS = (None, None, None, None, None, None)


def submit_many(store: Store, queue: str, items: Sequence[Submission]) -> list[str]:
    """Store all or none in one transaction; the ids, an earlier one's where a key was known."""
    check_queue(queue)
    now = store.now()
    rows = [_row(store, queue, item, now) for item in items]
    if not rows:
        return []
    with store.write() as tx:
        tx.run("SAVEPOINT items")
        arrived = tx.conn.executemany(_INSERT, rows).rowcount
        ids = [item.id for item in items]
        if arrived < len(rows):  # some are known already: find out which
            tx.run("ROLLBACK TO items")
            arrived = 0
            for place, (item, row) in enumerate(zip(items, rows, strict=True)):
                ids[place], new = _insert_one(tx, queue, item, row)
                arrived += new
        if arrived:
            # Repeating what is known is answered even by a queue that takes no new work.
            admit(tx, queue, arrived)
            tx.topics.add(f"work:{queue}")
    return ids


def _insert_one(tx: Transaction, queue: str, item: Submission, row: _Row) -> tuple[str, bool]:
    """Insert one item, or find the one that it repeats: ``(id, whether it is new)``."""
    if tx.run(_INSERT, row).rowcount == 1:
        return item.id, True
    if item.config.key is not None:
        known = tx.run(
            "SELECT id FROM invocation WHERE ns = ? AND queue = ? AND key = ?",
            (tx.ns, queue, item.config.key),
        ).fetchone()
        if known is not None:
            return str(known[0]), False
    same = tx.run(
        "SELECT queue = ? AND envelope = ? AND key IS ? FROM invocation WHERE ns = ? AND id = ?",
        (queue, item.envelope, item.config.key, tx.ns, item.id),
    ).fetchone()
    if not same[0]:
        raise DispatchError(
            f"invocation {item.id} exists already with other content: nothing was submitted; "
            "use a new id for other work, or give a key to submit the same work only once"
        )
    return item.id, False


def _row(store: Store, queue: str, item: Submission, now: float) -> _Row:
    check_invocation(item.id)
    config = item.config
    head = (store.ns, queue, now, now, item.id)
    if config is _PLAIN or config == _PLAIN:
        return (*head, None, 0.0, item.parent, item.envelope, *_NO_OPTIONS)
    check_config(config)
    backoff = config.backoff
    return (
        *head,
        config.key,
        float(config.priority),
        item.parent,
        item.envelope,
        config.retries,
        config.timeout_s,
        None if config.deadline is None else store.from_wall(config.deadline),
        now + config.delay_s if config.delay_s > 0 else None,
        None if backoff is None else backoff.base_s,
        None if backoff is None else backoff.cap_s,
    )
