"""How many workers a policy wants for the work there is, workers that exist left aside."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lakeshore_elasticity.decision import State
from lakeshore_elasticity.policies import Fixed, FullyElastic, Policy, PoolWithThreshold
from lakeshore_elasticity.signals import Signals


@dataclass(frozen=True, slots=True)
class Want:
    """``count``: workers wanted, within the policy's bounds. ``raw``: the same without its ceiling. ``why``: words."""

    count: int
    raw: int
    why: str
    bursting: bool = False


def wanted(policy: Policy, signals: Signals, state: State | None) -> Want:
    """Give what the policy wants for the snapshot's demand."""
    if signals.lifecycle in {"paused", "archived"}:
        return Want(0, 0, f"the queue is {signals.lifecycle}")
    if signals.lifecycle == "draining":
        running = _workers_for(signals.leased, signals.slots)
        return Want(running, running, f"the queue is draining: {signals.leased} leased")
    if isinstance(policy, Fixed):
        return Want(policy.replicas, policy.replicas, f"fixed at {policy.replicas}")
    if isinstance(policy, PoolWithThreshold):
        return _pool(policy, signals, state)
    most = policy.cap if isinstance(policy, FullyElastic) else policy.max
    raw, thrift = _elastic(policy, signals)
    why = f"{_load(signals)}; {_workers(raw)} wanted at {_slots(signals.slots)} each{thrift}"
    return Want(min(raw, most), raw, why + (f"; held at {most}" if raw > most else ""))


def ceiling(policy: Policy) -> int:
    """Workers that may exist at most, those that are going included."""
    if isinstance(policy, Fixed):
        return policy.replicas
    return policy.cap if isinstance(policy, FullyElastic) else policy.max


def _pool(policy: PoolWithThreshold, signals: Signals, state: State | None) -> Want:
    bursting = _is_bursting(policy, signals, state)
    if not bursting:
        why = f"{_load(signals)}; {policy.warm} warm, a burst begins above {policy.backlog} queued"
        return Want(policy.warm, policy.warm, why)
    raw, thrift = _elastic(policy, signals)
    raw = max(raw, policy.warm)
    why = f"{_load(signals)}; bursting to {_workers(raw)} at {_slots(signals.slots)} each{thrift}"
    held = f"; held at {policy.max}" if raw > policy.max else ""
    return Want(min(raw, policy.max), raw, why + held, bursting=True)


def _is_bursting(policy: PoolWithThreshold, signals: Signals, state: State | None) -> bool:
    if signals.queued > policy.backlog:
        return True
    if signals.queued and policy.age_limit_s is not None and signals.oldest_age_s > policy.age_limit_s:
        return True
    if state is None:
        there = sum(worker.phase != "draining" for worker in signals.workers)
        going_on = there > policy.warm
    else:
        going_on = state.bursting
    return going_on and signals.queued > policy.backlog / 2


def _elastic(policy: Policy, signals: Signals) -> tuple[int, str]:
    """Give one slot per job, or fewer where ``economy`` says that a new worker would come too late.

    With economy a, duration d, slots s and start delay t, work for more than ``demand * d / (s * a * t)``
    workers is done before a new one is there to help.
    """
    full = _workers_for(signals.demand, signals.slots)
    economy = policy.common.scale_up.economy
    duration, delay = signals.mean_duration_s, signals.start_delay_s
    if economy <= 0 or not duration or not delay or full == 0:
        return full, ""
    thrifty = max(1, math.ceil(signals.demand * duration / (signals.slots * economy * delay)))
    if thrifty >= full:
        return full, ""
    return thrifty, f" (economy: jobs take {duration:.3g} s, a start {delay:.3g} s)"


def _workers_for(jobs: int, slots: int) -> int:
    return -(-jobs // max(1, slots))


def _load(signals: Signals) -> str:
    return f"{signals.queued} queued, {signals.leased} leased"


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"
