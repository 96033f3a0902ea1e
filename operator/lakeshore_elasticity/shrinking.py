"""Which workers go when there are more than wanted: never a busy one, and not before their time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lakeshore_elasticity.policies import Fixed, Policy
from lakeshore_elasticity.signals import NOT_READY, Signals, Worker


@dataclass(frozen=True, slots=True)
class Shrink:
    """``cancel``: not started yet. ``victims``: idle. ``next_s``: seconds until more may go, infinity for never."""

    cancel: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    next_s: float = math.inf


def shrink(policy: Policy, signals: Signals, surplus: int, surplus_since: float, now: float) -> Shrink:
    """Choose up to ``surplus`` workers to go, those that have not started first."""
    down = policy.common.scale_down
    no_work_comes = signals.lifecycle in {"paused", "archived"}
    waits = [math.inf]

    cancel: list[str] = []
    cancel_at = surplus_since + (0.0 if no_work_comes else down.cancel_pending_after_s)
    not_ready = [worker for worker in signals.workers if worker.phase in NOT_READY]
    if not_ready and now >= cancel_at:
        cancel = [worker.id for worker in sorted(not_ready, key=_first_to_go)[:surplus]]
    elif not_ready:
        waits.append(cancel_at - now)

    left = surplus - len(cancel)
    idle_s = 0.0 if no_work_comes or isinstance(policy, Fixed) else policy.idle_timeout_s
    idle = [worker for worker in signals.workers if worker.phase == "ready_idle"]
    ripe = [worker for worker in idle if now - worker.since >= idle_s]
    waits += [worker.since + idle_s - now for worker in idle if now - worker.since < idle_s]
    settled_at = surplus_since + (0.0 if no_work_comes else down.stabilization_s)
    if ripe and now < settled_at:
        waits.append(settled_at - now)
        ripe = []
    at_once = _at_once(signals, down.max_fraction_per_step)
    victims = [worker.id for worker in sorted(ripe, key=_first_to_go)[: min(left, at_once)]]
    if left > len(victims) and len(ripe) > len(victims):
        waits.append(1.0)
    return Shrink(tuple(cancel), tuple(victims), min(waits) if surplus > 0 else math.inf)


def _at_once(signals: Signals, fraction: float) -> int:
    """How many ready workers may go in one step. Caution is for work that may come back; without any, all may."""
    ready = sum(worker.phase in {"ready_idle", "ready_busy"} for worker in signals.workers)
    return ready if signals.demand == 0 else max(1, math.floor(ready * fraction))


def _first_to_go(worker: Worker) -> tuple[bool, bool, float, str]:
    """Unhealthy before cordoned before the newest; the id decides between equals, so that order never matters."""
    return worker.healthy, not worker.cordoned, -worker.created_at, worker.id
