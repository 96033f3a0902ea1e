"""Whether two replicas serve more than one."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence

from dreamlake.lakeshore import HttpDispatch
from yardstick.served import replica, stores

CORES = 8
"""Cores below which the question has no answer: clients, two replicas, document server and Redis need one each."""
_CLIENTS = 4


def scaling_ratio(redis_program: str, seconds: float) -> float:
    """Give requests/s of two replicas over those of one, both under four clients that submit without a pause."""
    with stores(redis_program) as on, replica(on) as first:
        one = _submits_per_s([first.url], seconds)
        with replica(on) as second:
            return _submits_per_s([first.url, second.url], seconds) / one


def _submits_per_s(urls: Sequence[str], seconds: float) -> float:
    context = multiprocessing.get_context("spawn")
    with context.Pool(_CLIENTS) as pool:
        work = [(urls[number % len(urls)], number, seconds) for number in range(_CLIENTS)]
        return sum(pool.starmap(submit_for, work)) / seconds


def submit_for(url: str, number: int, seconds: float) -> int:
    """Submit one by one to ``url`` for so many seconds; how many."""
    plane = HttpDispatch(url)
    try:
        ends, done = time.monotonic() + seconds, 0
        stamp = time.time_ns()
        while time.monotonic() < ends:
            plane.submit(f"scale-{number}", b"x", id=f"inv-{stamp}-{number}-{done}")
            done += 1
        return done
    finally:
        plane.close()
