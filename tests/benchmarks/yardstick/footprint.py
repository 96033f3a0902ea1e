"""What a worker costs while nothing is to do, and what it and the package cost in memory and at import."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping

from yardstick.lake import lake
from yardstick.processes import cpu_s, family, rss_mib
from yardstick.throughput import map_rate

SETTLE_S = 2.0


def idle_percent(seconds: float) -> float:
    """Give the percentage of a core that an idle worker, its slots included, uses over ``seconds``."""
    with lake() as found:
        return idle_percents({"worker": family(found.worker_pid)}, seconds)["worker"]


def idle_percents(groups: Mapping[str, set[int]], seconds: float) -> dict[str, float]:
    """Give by name the percentage of a core that each group of processes uses over the same ``seconds``."""
    time.sleep(SETTLE_S)
    used, began = {name: cpu_s(pids) for name, pids in groups.items()}, time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    return {name: 100.0 * (cpu_s(pids) - used[name]) / took for name, pids in groups.items()}


def worker_mib(jobs: int) -> tuple[float, list[float]]:
    """Give the resident MiB of the worker's parent process and of each of its slots after ``jobs`` jobs."""
    with lake() as found:
        map_rate(found, jobs)
        slots = sorted(family(found.worker_pid) - {found.worker_pid})
        return rss_mib(found.worker_pid), [rss_mib(pid) for pid in slots]


def import_ms(repeats: int) -> list[float]:
    """Give, repeat by repeat, how much longer a Python takes that imports the package than one that does not."""
    _python_ms("import dreamlake.lakeshore")  # its byte code is compiled now
    return [_python_ms("import dreamlake.lakeshore") - _python_ms("pass") for _ in range(repeats)]


def _python_ms(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    return (time.perf_counter() - began) * 1e3
