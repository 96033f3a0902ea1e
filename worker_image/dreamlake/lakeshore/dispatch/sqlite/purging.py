"""Forgetting invocations that ended long ago, a few at a time so that nobody waits for it."""

from __future__ import annotations

from dreamlake.lakeshore.dispatch.sqlite.queues import touch
from dreamlake.lakeshore.dispatch.sqlite.store import Store

_BATCH = 500


def purge(store: Store, older_than_s: float) -> int:
    """Forget those that ended longer ago than this, with their journals; how many went."""
    before = store.now() - older_than_s
    gone = after = 0
    while True:
        count, after = _purge_batch(store, before, after)
        gone += count
        if after < 0:
            return gone


def _purge_batch(store: Store, before: float, after: int) -> tuple[int, int]:
    """Purge among the next ends after number ``after``; how many went, and where to go on (-1: nowhere)."""
    with store.write() as tx:
        # The ends are numbered in the order of their time, so the first one that is too young is where to stop.
        page = tx.run(
            "SELECT finish_seq, seq, id, queue, ns FROM invocation WHERE finish_seq > ? AND finished_at <= ?"
            " ORDER BY finish_seq LIMIT ?",
            (after, before, _BATCH),
        ).fetchall()
        old = [row for row in page if row[4] == tx.ns]
        journals = [(tx.ns, name) for row in old for name in (row[2], f"log:{row[2]}")]
        tx.conn.executemany("DELETE FROM frame WHERE ns = ? AND inv_id = ?", journals)
        tx.conn.executemany("DELETE FROM journal WHERE ns = ? AND inv_id = ?", journals)
        tx.conn.executemany("DELETE FROM invocation WHERE seq = ?", [(row[1],) for row in old])
        for queue in {row[3] for row in old}:
            touch(tx, queue)
    return len(old), page[-1][0] if len(page) == _BATCH else -1
