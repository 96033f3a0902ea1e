"""Celery: Redis as broker and as result backend, one prefork child."""

from __future__ import annotations

from celery import Celery
from timing import Ways, redis_url, time_peer, worker

app = Celery("peer_celery", broker=redis_url(1), backend=redis_url(2))
app.conf.worker_prefetch_multiplier = 16


@app.task
def add(a: int, b: int) -> int:
    return a + b


if __name__ == "__main__":
    with worker("celery", "-A", "peer_celery", "worker", "-c", "1", "-l", "ERROR"):
        time_peer("celery", Ways(add.delay, lambda handle, limit: handle.get(timeout=limit)))
