"""What scales a simulated fleet: the production policy, or a baseline, behind one interface."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from lakeshore_elasticity.deciding import decide
from lakeshore_elasticity.decision import Decision, State
from lakeshore_elasticity.policies import Fixed, FullyElastic, MaxCount, Policy, PoolWithThreshold
from lakeshore_elasticity.signals import Signals
from lakeshore_elasticity.simulator.fleet import Fleet


@dataclass(slots=True)
class Load:
    """What a scaler may see of the work: what production measures, and no more."""

    queued: int = 0
    leased: int = 0
    oldest_age_s: float = 0.0
    mean_duration_s: float | None = None
    start_delay_s: float | None = None
    arrivals_per_s: float = 0.0
    revision: int = 0

    @property
    def demand(self) -> int:
        """Jobs that wait or run."""
        return self.queued + self.leased


@dataclass(frozen=True, slots=True)
class Orders:
    """What a scaler wants done now. ``next_s``: seconds until it looks again even if nothing happens.

    ``calm``: until then nothing follows from jobs that find a free slot, and from jobs that end: it need not hear
    of them. A job that waits always wakes it.
    """

    wanted: int
    start: int = 0
    remove: tuple[str, ...] = ()
    next_s: float = math.inf
    calm: bool = False


class Scaler(Protocol):
    """Looks at the fleet and gives orders."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def floor(self) -> int:
        """Workers that stay when nothing is left to do."""
        ...

    @property
    def wakes_on_change(self) -> bool:
        """Whether it hears of changes at once, rather than looking by its clock alone."""
        ...

    def orders(self, load: Load, fleet: Fleet, now: float) -> Orders:
        """Decide."""
        ...


class PolicyScaler:
    """The policy as production runs it: the same ``decide``, told the same signals."""

    wakes_on_change = True

    def __init__(self, policy: Policy, name: str | None = None) -> None:
        self._policy = policy
        self._state: State | None = None
        self.name = name if name is not None else policy_name(policy)
        self.floor = policy.replicas if isinstance(policy, Fixed) else _warm(policy)
        self._idle_s = math.inf if isinstance(policy, Fixed) else policy.idle_timeout_s

    def orders(self, load: Load, fleet: Fleet, now: float) -> Orders:
        """Take one decision."""
        workers, more_busy = fleet.views()
        signals = Signals(
            queued=load.queued,
            leased=load.leased,
            as_of=now,
            workers=workers,
            oldest_age_s=load.oldest_age_s,
            slots=fleet.slots,
            mean_duration_s=load.mean_duration_s,
            start_delay_s=load.start_delay_s,
            arrivals_per_s=load.arrivals_per_s,
            revision=load.revision,
            more_busy=more_busy,
        )
        decision = decide(self._policy, signals, self._state, now)
        self._state = decision.state
        removed = (*decision.cancel, *decision.victims)
        if self._is_calm(signals, decision):
            return Orders(decision.wanted, next_s=min(decision.next_check_s, self._idle_s), calm=True)
        return Orders(decision.wanted, decision.start, removed, decision.next_check_s)

    def _is_calm(self, signals: Signals, decision: Decision) -> bool:
        """Say whether no decision can follow before the next check, as long as no job waits.

        Then no worker is missing, so none is started, and none goes before it has been idle for its time, which the
        next check counts already for those that are idle now. Most moments of a long trace are like this.
        """
        if decision.kind != "tick_noop" or signals.queued or self._policy.common.scale_down.stabilization_s:
            return False
        if any(worker.phase != "ready_idle" for worker in signals.workers):
            return False
        there = len(signals.workers) + signals.more_busy
        return decision.wanted < there or there == self.floor or not signals.workers


def _warm(policy: Policy) -> int:
    return policy.warm if isinstance(policy, PoolWithThreshold) else 0


def policy_name(policy: Policy) -> str:
    """Name a policy by its kind, and by what sets it apart: ``max_count 8``, ``fully_elastic, economy 0.25``."""
    match policy:
        case Fixed():
            name = f"fixed {policy.replicas}"
        case FullyElastic():
            name = "fully_elastic"
        case PoolWithThreshold():
            name = f"pool_with_threshold {policy.warm}-{policy.max}"
        case MaxCount():
            name = f"max_count {policy.max}"
    economy = policy.common.scale_up.economy
    return f"{name}, economy {economy:g}" if economy else name
