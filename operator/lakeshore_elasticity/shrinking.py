"""Which workers go when there are more than wanted: never a busy one, and not before their time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lakeshore_elasticity.policies import Fixed, Policy
from lakeshore_elasticity.signals import NOT_READY, Headcount, Signals, Worker
from lakeshore_elasticity.steady import THRIFTY_SIGMAS, steady_peak
from lakeshore_elasticity.wanting import ceiling

STEP_S = 1.0
"""How long a step of ``maxFractionPerStep`` lasts."""


@dataclass(frozen=True, slots=True)
class Shrink:
    """``cancel``: not started yet. ``victims``: idle. ``next_s``: seconds until more may go, infinity for never."""

    cancel: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    next_s: float = math.inf


def shrink(
    policy: Policy, signals: Signals, heads: Headcount, *, surplus: int, since: float, now: float
) -> Shrink:
    """Choose up to ``surplus`` workers to go, those that have not started first. ``since``: of the surplus.

    Starts that a steady load needs again in a moment stay while there is any work: cancelled at each dip, it would
    never get its workers.
    """
    spared = steady_peak(signals) if signals.demand and not _no_work_comes(signals) else 0
    cancel, cancel_wait = _cancelled(policy, signals, max(0, min(surplus, heads.there - spared)), since - now)
    left = surplus - len(cancel)
    over = heads.there - len(cancel) - ceiling(policy)
    victims, idle_wait = _drained(policy, signals, heads, left=left, over=over, since=since, now=now)
    return Shrink(cancel, victims, min(cancel_wait, idle_wait))


def _no_work_comes(signals: Signals) -> bool:
    """Say whether the queue's state keeps work away, so that there is nothing to wait for."""
    if signals.lifecycle == "draining":
        return signals.queued == 0
    return signals.lifecycle != "active"


def _cancelled(policy: Policy, signals: Signals, useless: int, since: float) -> tuple[tuple[str, ...], float]:
    """Choose those that have not started; give also the seconds until they may go. ``since``: less now."""
    not_ready = [worker for worker in signals.workers if worker.phase in NOT_READY]
    if not not_ready:
        return (), math.inf
    wait = 0.0 if _no_work_comes(signals) else since + policy.common.scale_down.cancel_pending_after_s
    if wait > 0:
        return (), wait
    return tuple(worker.id for worker in sorted(not_ready, key=_first_to_go)[:useless]), math.inf


def _drained(
    policy: Policy, signals: Signals, heads: Headcount, *, left: int, over: int, since: float, now: float
) -> tuple[tuple[str, ...], float]:
    """Choose idle ones. Those over the ceiling (``over``), and all when no work comes, need not be idle for long."""
    if left <= 0 or not heads.idle:
        return (), math.inf
    hurry = _no_work_comes(signals)
    idle_s = 0.0 if hurry or isinstance(policy, Fixed) else policy.idle_timeout_s
    ripe_at = now - idle_s
    idle = [worker for worker in signals.workers if worker.phase == "ready_idle"]
    ripe = [worker for worker in idle if worker.since <= ripe_at]
    early = [worker for worker in idle if worker.since > ripe_at] if len(ripe) < len(idle) else []
    next_s = min((worker.since for worker in early), default=math.inf) - ripe_at
    thrifty, thrifty_s = _thrifty(policy, signals, early, now, heads.there - len(ripe))
    next_s = min(next_s, thrifty_s)
    ripe += thrifty
    settles_in = 0.0 if hurry else since + policy.common.scale_down.stabilization_s - now
    if settles_in > 0 and over <= 0:
        return (), max(settles_in, 0.0 if ripe else next_s)
    chosen = sorted(ripe, key=_first_to_go)[:left]
    if len(chosen) < min(over, left):
        others = [worker for worker in early if worker not in thrifty]
        chosen += sorted(others, key=_first_to_go)[: min(over, left) - len(chosen)]
    going = chosen if hurry else chosen[: _at_once(policy, signals, heads, now)]
    return tuple(worker.id for worker in going), STEP_S if len(going) < len(chosen) else next_s


def _thrifty(
    policy: Policy, signals: Signals, early: list[Worker], now: float, there: int
) -> tuple[list[Worker], float]:
    """Choose those that economy lets go before the timeout; give also the seconds until it may choose more.

    With economy a and start delay t, a worker is not kept idle for longer than t / a: having it started again costs
    the wait t, which is a times as dear (the rule for renting or buying skis). What a steady load needs is kept.
    """
    economy, delay = policy.common.scale_up.economy, signals.start_delay_s
    if not early or economy <= 0 or not delay:
        return [], math.inf
    ripe_at = now - delay / economy
    spare = there - (steady_peak(signals, THRIFTY_SIGMAS) if signals.demand else 0)
    if spare <= 0:
        return [], math.inf
    ripe = [worker for worker in early if worker.since <= ripe_at]
    wait = min((worker.since for worker in early if worker.since > ripe_at), default=math.inf) - ripe_at
    return sorted(ripe, key=_first_to_go)[:spare], wait


def _at_once(policy: Policy, signals: Signals, heads: Headcount, now: float) -> int:
    """Say how many ready workers may go in this step, less those that went a moment ago.

    The caution is for work that may come back; without any, all may go.
    """
    if signals.demand == 0:
        return heads.ready
    going = sum(worker.phase == "draining" and now - worker.since < STEP_S for worker in signals.workers)
    share = policy.common.scale_down.max_fraction_per_step * (heads.ready + going)
    return max(0, max(1, math.floor(share)) - going)


def _first_to_go(worker: Worker) -> tuple[bool, bool, float, str]:
    """Unhealthy before cordoned before the newest; the id decides between equals, so that order never matters."""
    return worker.healthy, not worker.cordoned, -worker.created_at, worker.id
