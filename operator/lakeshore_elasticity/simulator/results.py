"""What a simulation found out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lakeshore_elasticity.simulator.fleet import Spent


class Sample(NamedTuple):
    """A point of the charts: jobs queued and leased, workers wanted and alive, at ``t_s`` seconds."""

    t_s: float
    queued: int
    leased: int
    wanted: int
    alive: int


@dataclass(frozen=True, slots=True)
class Run:
    """One scaler on the trace.

    ``wait_p50_s`` and so on: seconds from arrival to start of a job. ``spent``: worker-seconds by use.
    ``scale_actions``: decisions that ordered or took away workers. ``most_workers``: alive at once. ``orders``:
    workers ordered in all. ``unfinished``: jobs that never ran, because there was never a worker for them.
    ``end_s``: when the fleet was back at its floor.
    """

    name: str
    jobs: int
    unfinished: int
    wait_p50_s: float
    wait_p95_s: float
    wait_p99_s: float
    wait_max_s: float
    spent: Spent
    scale_actions: int
    orders: int
    most_workers: int
    end_s: float
    samples: tuple[Sample, ...]

    @property
    def worker_hours(self) -> float:
        """Hours paid for: all workers, from order to end."""
        return self.spent.total_s / 3600

    def to_dict(self) -> dict[str, Any]:
        """Give the numbers as JSON holds them; the samples are left out."""
        return {
            "policy": self.name,
            "jobs": self.jobs,
            "unfinished": self.unfinished,
            "wait_s": {
                "p50": round(self.wait_p50_s, 3),
                "p95": round(self.wait_p95_s, 3),
                "p99": round(self.wait_p99_s, 3),
                "max": round(self.wait_max_s, 3),
            },
            "worker_s": {
                "busy": round(self.spent.busy_s, 3),
                "idle": round(self.spent.idle_s, 3),
                "starting": round(self.spent.starting_s, 3),
                "wasted": round(self.spent.wasted_s, 3),
                "total": round(self.spent.total_s, 3),
            },
            "scale_actions": self.scale_actions,
            "orders": self.orders,
            "most_workers": self.most_workers,
            "end_s": round(self.end_s, 3),
        }


@dataclass(frozen=True, slots=True)
class Results:
    """All runs on one trace, in the order asked for."""

    trace: str
    jobs: int
    slots: int
    start_delay: str
    runs: tuple[Run, ...]

    def __getitem__(self, name: str) -> Run:
        """Give the run of that name. Raises ``KeyError``."""
        for run in self.runs:
            if run.name == name:
                return run
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Give all numbers as JSON holds them."""
        return {
            "trace": self.trace,
            "jobs": self.jobs,
            "slots": self.slots,
            "start_delay": self.start_delay,
            "runs": [run.to_dict() for run in self.runs],
        }


def percentile(ordered: Sequence[float], part: float) -> float:
    """Give the nearest-rank percentile of values in rising order; 0 of none."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0


class Sampler:
    """Keeps at most ``most`` samples of a run of unknown length; each is the peak of its stretch of time."""

    def __init__(self, most: int = 600) -> None:
        self._most = most
        self._every = 0.0
        self._kept: list[Sample] = []

    def add(self, sample: Sample) -> None:
        """Take a sample, in order of time."""
        kept = self._kept
        if kept and sample.t_s < kept[-1].t_s + self._every:
            kept[-1] = _peak(kept[-1], sample)
            return
        kept.append(sample)
        if len(kept) > 2 * self._most:
            odd = kept[-1:] if len(kept) % 2 else []
            self._kept = [_peak(*pair) for pair in zip(kept[::2], kept[1::2], strict=False)] + odd
            self._every = (kept[-1].t_s - kept[0].t_s) / self._most

    def samples(self) -> tuple[Sample, ...]:
        """Give what was kept."""
        return tuple(self._kept)


def _peak(one: Sample, other: Sample) -> Sample:
    return Sample(
        one.t_s,
        max(one.queued, other.queued),
        max(one.leased, other.leased),
        max(one.wanted, other.wanted),
        max(one.alive, other.alive),
    )
