"""Dramatiq: Redis as broker and for results, one process with one thread."""

from __future__ import annotations

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
from timing import Ways, redis_url, time_peer, worker

broker = RedisBroker(url=redis_url(4))
broker.add_middleware(Results(backend=RedisBackend(url=redis_url(5))))
dramatiq.set_broker(broker)


@dramatiq.actor(store_results=True)
def add(a: int, b: int) -> int:
    return a + b


def wait(message: dramatiq.Message[int], limit: float) -> int:
    return int(message.get_result(block=True, timeout=int(limit * 1000)))


if __name__ == "__main__":
    with worker("dramatiq", "peer_dramatiq", "-p", "1", "-t", "1"):
        time_peer("dramatiq", Ways(add.send, wait))
