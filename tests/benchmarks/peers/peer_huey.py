"""Huey: one consumer with one worker thread that polls every 10 ms at most."""

from __future__ import annotations

from typing import Any

from huey_tasks import add
from timing import Ways, time_peer, worker


def wait(handle: Any, limit: float) -> int:
    return int(handle.get(blocking=True, timeout=limit, backoff=1.0, max_delay=0.002))


if __name__ == "__main__":
    with worker("huey_consumer", "huey_tasks.huey", "-w", "1", "-d", "0.01", "-q"):
        time_peer("huey", Ways(add, wait))
