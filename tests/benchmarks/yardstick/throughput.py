"""Jobs per second by ``map``, and the latency of one call at a time."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import bench_jobs

from yardstick.figures import percentile
from yardstick.lake import Lake


@dataclass(slots=True)
class OwnFigures:
    """What Lakeshore reached, repeat by repeat; times in milliseconds."""

    map_per_s: list[float] = field(default_factory=list)
    loop_per_s: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)


def measure_round(
    into: OwnFigures, opened: AbstractContextManager[Lake], *, jobs: int, loop_jobs: int, calls: int
) -> None:
    """Open a lake and add one repeat of every figure. ``loop_jobs`` are submitted one by one, as peers' are."""
    with opened as found:
        map_rate(found, min(jobs, 500))  # warms up, like the first calls
        into.map_per_s.append(map_rate(found, jobs))
        if loop_jobs:
            into.loop_per_s.append(_loop_rate(found, loop_jobs))
        taken = latencies_ms(found, calls)
        into.p50_ms.append(percentile(taken, 0.5))
        into.p99_ms.append(percentile(taken, 0.99))


def map_rate(found: Lake, jobs: int) -> float:
    """Give jobs/s from the call of ``map`` to its last result, which is checked."""
    began = time.perf_counter()
    answers = list(bench_jobs.add.map(range(jobs), progress=False, timeout=60.0, _dispatch=found.plane))
    taken = time.perf_counter() - began
    if answers != [i + 3 for i in range(jobs)]:
        raise AssertionError("map gave wrong answers")
    return jobs / taken


def _loop_rate(found: Lake, jobs: int) -> float:
    queue = found.queue
    began = time.perf_counter()
    ids = [queue.submit(bench_jobs.add, i, 3) for i in range(jobs)]
    answers = [queue.result(each, timeout=60.0) for each in ids]
    taken = time.perf_counter() - began
    if answers != [i + 3 for i in range(jobs)]:
        raise AssertionError("the jobs gave wrong answers")
    return jobs / taken


def latencies_ms(found: Lake, calls: int) -> list[float]:
    """Time single calls, submit to result."""
    queue = found.queue
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        queue.result(queue.submit(bench_jobs.add, 2, 3), timeout=30.0)
        taken.append((time.perf_counter() - began) * 1e3)
    return taken
