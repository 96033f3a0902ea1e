"""What the benchmarks ran on, without names or paths."""

from __future__ import annotations

import os
import platform
import resource
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts of a machine that the figures depend on. ``load``: runnable processes before the run."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    python: str
    sqlite: str
    load: float


def this_machine() -> Machine:
    """Look at the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(
        cpu=_cpu_model(),
        cores=cores,
        memory_gib=memory,
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        sqlite=sqlite3.sqlite_version,
        load=os.getloadavg()[0],
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """Clock and processor seconds so far: the machine's busy ones, and those of this run alone."""

    clock_s: float
    busy_s: float
    own_s: float

    @classmethod
    def now(cls) -> Moment:
        """Look at the machine. Children count once they have been waited for; without /proc nothing is busy."""
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.monotonic(), _busy_s(), sum(each.ru_utime + each.ru_stime for each in own))


def others_percent(since: Moment, until: Moment, cores: int) -> float:
    """Give the percentage of the machine that processes other than this run's used in between."""
    others = (until.busy_s - since.busy_s) - (until.own_s - since.own_s)
    available = cores * (until.clock_s - since.clock_s)
    return min(100.0, max(0.0, 100.0 * others / available)) if available > 0 else 0.0


def _busy_s() -> float:
    try:
        words = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(word) for word in words[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return " ".join(models[0].split()) if models else platform.machine()
