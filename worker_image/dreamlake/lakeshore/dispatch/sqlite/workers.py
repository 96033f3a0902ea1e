"""The register of workers, and the snapshot that elasticity is decided on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dreamlake.lakeshore.dispatch.names import check_queue, check_worker
from dreamlake.lakeshore.dispatch.plane import QueueSignals, WorkerRecord
from dreamlake.lakeshore.dispatch.sqlite.store import Store

_READY = "FROM invocation WHERE ns = ?1 AND queue = ?2 AND state = 'queued' AND due IS NULL"
_DELAYED = "FROM invocation WHERE ns = ?1 AND queue = ?2 AND state = 'queued' AND due IS NOT NULL"
_RUNNING = "FROM invocation WHERE ns = ?1 AND queue = ?2 AND state = 'running'"


def register(store: Store, record: WorkerRecord) -> None:
    """Insert or replace a worker's record. Since when it is idle, the plane knows by itself."""
    check_worker(record.id)
    check_queue(record.queue)
    idle = record.last_seen_at if record.idle_since is None else record.idle_since
    with store.write() as tx:
        tx.run(
            "INSERT INTO worker VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " queue = excluded.queue, host = excluded.host, pid = excluded.pid, state = excluded.state,"
            " concurrency = excluded.concurrency, started_at = excluded.started_at,"
            " last_seen_at = excluded.last_seen_at, tags = excluded.tags",
            (
                tx.ns,
                record.id,
                record.queue,
                record.host,
                record.pid,
                record.state,
                record.concurrency,
                record.started_at,
                record.last_seen_at,
                idle,
                ",".join(record.tags),
            ),
        )


def remove(store: Store, worker_id: str) -> None:
    """Forget a worker that has ended."""
    with store.write() as tx:
        tx.run("DELETE FROM worker WHERE ns = ? AND id = ?", (tx.ns, worker_id))


def listing(store: Store, queue: str | None) -> list[WorkerRecord]:
    """List registered workers, the oldest first, with ``leased`` counted from the rows."""
    with store.read() as conn:
        rows = conn.execute(
            "SELECT id, queue, host, pid, state, concurrency, started_at, last_seen_at, idle_since, tags FROM worker"
            " WHERE ns = ?1 AND (?2 IS NULL OR queue = ?2) ORDER BY started_at, id",
            (store.ns, queue),
        ).fetchall()
        queues = {row[1] for row in rows}
        leased: dict[tuple[str, str], int] = {}
        for name in queues:
            for worker, count in conn.execute(
                f"SELECT worker, count(*) {_RUNNING} GROUP BY worker", (store.ns, name)
            ):
                leased[name, worker] = count
    return [_record(row, leased.get((row[1], row[0]), 0)) for row in rows]


def _record(row: tuple[Any, ...], leased: int) -> WorkerRecord:
    tags = tuple(row[9].split(",")) if row[9] else ()
    return replace(WorkerRecord(*row[:8]), leased=leased, idle_since=None if leased else row[8], tags=tags)


def signals(store: Store, queue: str) -> QueueSignals:
    """Give one consistent snapshot of a queue.

    A delayed row whose time has come and a row whose lease ran out could start now, so they count as ``queued``
    though no claim has moved them yet. ``revision`` is a counter that every change of the queue's rows raises.
    """
    check_queue(queue)
    with store.read() as conn:
        now, lease_now = store.now(), store.lease_now()
        who, who_now = (store.ns, queue), (store.ns, queue, now)
        ready, first = conn.execute(f"SELECT count(*), min(seq) {_READY}", who).fetchone()
        delayed, late, due_first = conn.execute(
            f"SELECT count(*), coalesce(sum(due <= ?3), 0), min(due) {_DELAYED}", who_now
        ).fetchone()
        running, lost, lost_first = conn.execute(
            f"SELECT count(*), coalesce(sum(lease_until <= ?3), 0), min(lease_until) {_RUNNING}",
            (*who, lease_now),
        ).fetchone()
        since = [at for at in (due_first,) if at is not None and at <= now]
        if lost:
            since.append(now - (lease_now - lost_first))
        if first is not None:
            since += conn.execute("SELECT queued_at FROM invocation WHERE seq = ?", (first,)).fetchone()
        tally = conn.execute(
            "SELECT arrived, finished, mean_duration_s, revision FROM queue WHERE ns = ? AND name = ?", who
        ).fetchone()
    arrived, finished, mean, revision = tally or (0, 0, None, 0)
    return QueueSignals(
        queue=queue,
        queued=ready + late + lost,
        delayed=delayed - late,
        leased=running - lost,
        oldest_age_s=max(0.0, now - min(since)) if since else 0.0,
        arrived=arrived,
        finished=finished,
        mean_duration_s=mean,
        as_of=now,
        revision=revision,
    )
