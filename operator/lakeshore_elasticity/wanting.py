"""How many workers a policy wants for the work there is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lakeshore_elasticity.policies import Fixed, FullyElastic, MaxCount, Policy, PoolWithThreshold
from lakeshore_elasticity.signals import Headcount, Signals
from lakeshore_elasticity.steady import steady_peak


@dataclass(frozen=True, slots=True)
class Want:
    """``count``: workers wanted, within the policy's bounds. ``raw``: the same without its ceiling. ``why``: words.

    ``next_s``: seconds until the same demand asks for more, infinity for never.
    """

    count: int
    raw: int
    why: str
    bursting: bool = False
    next_s: float = math.inf


def wanted(policy: Policy, signals: Signals, heads: Headcount) -> Want:
    """Give what the policy wants for the snapshot's demand."""
    if signals.lifecycle in {"paused", "archived"}:
        return Want(0, 0, f"the queue is {signals.lifecycle}")
    if signals.lifecycle == "draining":
        # Running work has its workers already, so a draining queue keeps some and starts none.
        running = min(heads.there, _workers_for(signals.leased - heads.leased_by_going, signals.slots))
        return Want(running, running, f"the queue is draining: {signals.leased} leased")
    if isinstance(policy, Fixed):
        return Want(policy.replicas, policy.replicas, f"fixed at {policy.replicas}")
    if isinstance(policy, PoolWithThreshold):
        return _pool(policy, signals, heads)
    raw, thrift = _elastic(policy, signals, heads)
    why = f"{_load(signals)}; {_workers(raw)} wanted at {_slots(signals.slots)} each{thrift}"
    return _capped(policy, raw, why)


def ceiling(policy: Policy) -> int:
    """Give the most workers that a policy ever wants."""
    if isinstance(policy, Fixed):
        return policy.replicas
    return policy.cap if isinstance(policy, FullyElastic) else policy.max


def room(policy: Policy, heads: Headcount) -> int:
    """Give how many workers may be added under the ceiling.

    Under ``max`` those that are going take up room until they are gone. ``replicas`` and ``cap`` leave them out: a
    worker that ends its last long job must not hold up its successor.
    """
    taken = heads.there + (heads.going if isinstance(policy, MaxCount | PoolWithThreshold) else 0)
    return max(0, ceiling(policy) - taken)


def _capped(policy: Policy, raw: int, why: str, *, bursting: bool = False) -> Want:
    most = ceiling(policy)
    word = "cap" if isinstance(policy, FullyElastic) else "max"
    return Want(min(raw, most), raw, f"{why}; {word} {most}" if raw > most else why, bursting)


def _pool(policy: PoolWithThreshold, signals: Signals, heads: Headcount) -> Want:
    if _is_bursting(policy, signals, heads):
        raw, thrift = _elastic(policy, signals, heads)
        raw = max(raw, policy.warm)
        why = f"{_load(signals)}; bursting to {_workers(raw)} at {_slots(signals.slots)} each{thrift}"
        return _capped(policy, raw, why, bursting=True)
    why = f"{_load(signals)}; {policy.warm} warm, a burst begins above {policy.backlog} queued"
    limit = policy.age_limit_s
    if limit is None:
        return Want(policy.warm, policy.warm, why)
    next_s = limit - signals.oldest_age_s if signals.queued else math.inf
    return Want(policy.warm, policy.warm, f"{why} or {limit:g} s of waiting", next_s=next_s)


def _is_bursting(policy: PoolWithThreshold, signals: Signals, heads: Headcount) -> bool:
    """Say whether the pool bursts. That it does already is seen by its workers: there are more than are warm."""
    if signals.queued > policy.backlog:
        return True
    if signals.queued and policy.age_limit_s is not None and signals.oldest_age_s > policy.age_limit_s:
        return True
    return heads.there > policy.warm and signals.queued > policy.backlog / 2


def _elastic(policy: Policy, signals: Signals, heads: Headcount) -> tuple[int, str]:
    """Give one slot per job, or fewer where ``economy`` says that a new worker would come too late.

    With economy a, duration d, slots s and start delay t, work for more than ``demand * d / (s * a * t)`` workers is
    done before a new one is there to help. It never goes below what a steady load needs, see ``steady_peak``.
    """
    demand = signals.queued + max(0, signals.leased - heads.leased_by_going)
    full = _workers_for(demand, signals.slots)
    economy = policy.common.scale_up.economy
    duration, delay = signals.mean_duration_s, signals.start_delay_s
    if economy <= 0 or not duration or not delay or full == 0:
        return full, ""
    slots = max(1, signals.slots)
    in_time = demand * duration / (slots * economy * delay)
    thrifty = max(1, math.ceil(in_time), steady_peak(signals))
    if thrifty >= full:
        return full, ""
    return thrifty, f" (economy: a job takes {duration:.3g} s, a start {delay:.3g} s)"


def _workers_for(jobs: int, slots: int) -> int:
    return -(-max(0, jobs) // max(1, slots))


def _load(signals: Signals) -> str:
    return f"{signals.queued} queued, {signals.leased} leased"


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"
