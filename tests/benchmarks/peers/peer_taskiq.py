"""Taskiq: a Redis list as broker, results in Redis, one worker process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from taskiq_redis import ListQueueBroker, RedisAsyncResultBackend
from timing import Ways, redis_url, time_peer, worker

broker = ListQueueBroker(redis_url(7)).with_result_backend(RedisAsyncResultBackend(redis_url(8)))


@broker.task
async def add(a: int, b: int) -> int:
    return a + b


async def wait(handle: Any, limit: float) -> int:
    return int((await handle.wait_result(timeout=limit, check_interval=0.001)).return_value)


async def all_of(numbers: Sequence[int]) -> list[int]:
    room = asyncio.Semaphore(100)

    async def one(number: int) -> int:
        async with room:
            return await wait(await add.kiq(number, 3), 60.0)

    return await asyncio.gather(*map(one, numbers))


if __name__ == "__main__":
    loop = asyncio.new_event_loop()
    run = loop.run_until_complete
    run(broker.startup())
    with worker("taskiq", "worker", "peer_taskiq:broker", "-w", "1"):
        time_peer(
            "taskiq",
            Ways(
                lambda a, b: run(add.kiq(a, b)),
                lambda handle, limit: run(wait(handle, limit)),
                lambda numbers: run(all_of(numbers)),
            ),
        )
    run(broker.shutdown())
