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

    ``healthy``: answers its checks. ``cordoned``: its node takes no new work.
    """

    id: str
    phase: Phase
    since: float
    created_at: float
    healthy: bool = True
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class Signals:
    """The snapshot.

    ``queued``: jobs that could start now; ``leased``: claimed and not finished. ``oldest_age_s``: how long the
    oldest of the queued has waited. ``slots``: jobs that one worker runs at once. ``mean_duration_s`` and
    ``start_delay_s``: of a job, and of a worker's start, as measured; None while unknown. ``as_of``: when the
    snapshot was taken. ``start_failures``: starts that failed since the last that worked, the latest at
    ``last_failure_at``, for the reason ``failure``.
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

    @property
    def demand(self) -> int:
        """Jobs that wait or run."""
        return self.queued + self.leased
