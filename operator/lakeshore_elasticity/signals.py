"""What a policy is told: one consistent snapshot of a queue and its workers. Times are seconds on one clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["pending", "starting", "ready_idle", "ready_busy", "draining"]
Lifecycle: TypeAlias = Literal["active", "paused", "draining", "archived"]

NOT_READY: frozenset[str] = frozenset({"pending", "starting"})


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker. ``since``: when it entered its phase, so for an idle one when it became idle.

    ``healthy``: answers its checks. ``cordoned``: its node takes no new work. ``leased``: jobs that it runs; read of
    draining workers alone, whose jobs need no further worker (0 where it is not known).
    """

    id: str
    phase: Phase
    since: float
    created_at: float
    healthy: bool = True
    cordoned: bool = False
    leased: int = 0


@dataclass(frozen=True, slots=True)
class Signals:
    """The snapshot.

    ``queued``: jobs that could start now; ``leased``: claimed and not finished. ``oldest_age_s``: how long the
    oldest of the queued has waited. ``slots``: jobs that one worker runs at once. ``mean_duration_s`` and
    ``start_delay_s``: of a job, and of a worker's start, as measured; None while unknown. ``arrivals_per_s``: how
    fast jobs come. ``as_of``: when the snapshot was taken. ``start_failures``: starts that failed since the last
    that worked, the latest at ``last_failure_at``, for the reason ``failure``. ``more_busy``: busy workers left out
    of ``workers``: they are never chosen to go, so of a large pool they need only be counted.
    """

    queued: int
    leased: int
    as_of: float
    workers: tuple[Worker, ...] = ()
    oldest_age_s: float = 0.0
    slots: int = 1
    lifecycle: Lifecycle = "active"
    mean_duration_s: float | None = None
    start_delay_s: float | None = None
    arrivals_per_s: float = 0.0
    revision: int = 0
    start_failures: int = 0
    last_failure_at: float | None = None
    failure: str = ""
    more_busy: int = 0

    @property
    def demand(self) -> int:
        """Jobs that wait or run."""
        return self.queued + self.leased


@dataclass(frozen=True, slots=True)
class Headcount:
    """Workers by what they mean to a decision. ``there``: all but those that are going. ``leased_by_going``: jobs."""

    there: int
    not_ready: int
    idle: int
    going: int
    leased_by_going: int

    @property
    def ready(self) -> int:
        """Workers that take or run jobs."""
        return self.there - self.not_ready


def head_count(signals: Signals) -> Headcount:
    """Count a snapshot's workers, in one pass: pools of thousands are decided on every second."""
    not_ready = idle = going = going_jobs = 0
    for worker in signals.workers:
        phase = worker.phase
        if phase == "ready_idle":
            idle += 1
        elif phase == "draining":
            going += 1
            going_jobs += worker.leased
        elif phase != "ready_busy":
            not_ready += 1
    there = len(signals.workers) - going + signals.more_busy
    return Headcount(there, not_ready, idle, going, going_jobs)
