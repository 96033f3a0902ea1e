"""RQ: its worker without a fork per job (``SimpleWorker``), the fastest it has."""

from __future__ import annotations

import operator
import time
from collections.abc import Sequence

from redis import Redis
from rq import Queue
from rq.job import Job
from timing import Ways, redis_url, time_peer, worker


def wait(job: Job, limit: float) -> int:
    ends = time.monotonic() + limit
    while job.get_status().value != "finished":
        if time.monotonic() > ends:
            raise TimeoutError(f"the job is {job.get_status()} after {limit} s")
        time.sleep(0.001)
    return int(job.return_value())


if __name__ == "__main__":
    queue = Queue(connection=Redis.from_url(redis_url(3)))

    def batch(numbers: Sequence[int]) -> list[int]:
        jobs = queue.enqueue_many([Queue.prepare_data(operator.add, args=(i, 3)) for i in numbers])
        return [wait(job, 60.0) for job in jobs]

    with worker("rq", "worker", "-u", redis_url(3), "-w", "rq.worker.SimpleWorker", "--quiet"):
        time_peer("rq", Ways(lambda a, b: queue.enqueue(operator.add, a, b), wait, batch))
