"""The register of workers over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dreamlake.lakeshore.dispatch.names import check_queue, check_worker
from dreamlake.lakeshore.dispatch.plane import WorkerRecord

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.drains import DrainOrders
    from dreamlake.lakeshore.dispatch.http.requests import Requests


def register(requests: Requests, orders: DrainOrders, record: WorkerRecord) -> None:
    """Insert or replace a worker's record. When it was seen and since when it is idle, the server knows itself."""
    check_worker(record.id)
    check_queue(record.queue)
    found = requests.post(
        "daemon/hello",
        {
            "worker_id": record.id,
            "queues": [record.queue],
            "host": record.host,
            "pid": record.pid,
            "state": record.state,
            "concurrency": record.concurrency,
            "started_at": record.started_at,
            "tags": list(record.tags),
        },
    )
    orders.note(record.id, found)


def remove(requests: Requests, worker_id: str) -> None:
    """Forget a worker that has ended."""
    requests.post("daemon/goodbye", {"worker_id": worker_id})


def listing(requests: Requests, queue: str | None) -> list[WorkerRecord]:
    """List registered workers, the oldest first, with what each holds."""
    asked = "" if queue is None else "?" + urlencode({"queue": queue})
    found = [_record(raw) for raw in requests.get(f"producer/workers{asked}")["workers"]]
    return sorted(found, key=lambda known: (known.started_at, known.id))


def _record(raw: dict[str, Any]) -> WorkerRecord:
    idle = raw.get("idle_since")
    return WorkerRecord(
        id=raw["id"],
        queue=raw.get("queue") or (raw.get("queues") or [""])[0],
        host=raw["host"],
        pid=raw["pid"],
        state=raw["state"],
        concurrency=raw["concurrency"],
        started_at=float(raw["started_at"]),
        last_seen_at=float(raw["last_seen_at"]),
        leased=int(raw.get("leased") or 0),
        idle_since=None if idle is None else float(idle),
        tags=tuple(raw.get("tags") or ()),
    )
