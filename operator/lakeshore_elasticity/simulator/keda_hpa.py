"""The baseline: a Deployment scaled by KEDA and the HorizontalPodAutoscaler with their documented defaults.

Modelled, from https://keda.sh/docs/latest/reference/scaledobject-spec/ (pollingInterval, cooldownPeriod,
minReplicaCount) and https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ (algorithm,
tolerance, stabilization, default scaling behavior):

- Every ``poll_s`` KEDA looks at the queue. Work and no worker: it starts one. No work for ``cooldown_s``: it
  goes to zero.
- Both loops begin at a random moment (seeded), as jobs come without regard to them.
- Between one worker and many, the HPA looks every ``sync_s`` and wants ``ceil(demand / slots)``: the metric is
  an average value of one job per slot, and counts running jobs as RabbitMQ's and SQS's scalers do. It leaves a
  ratio within ``tolerance`` alone.
- Upwards, at most ``up_percent`` or ``up_pods`` more per ``sync_s``, whichever is more. ``up_percent`` infinity
  lifts that limit, which the documentation lets a user configure.
- Downwards, the highest recommendation of the last ``stabilization_s`` counts.

In the baseline's favour: a busy worker that is taken away finishes its job (a Deployment kills it after the
grace period), workers that have not started and idle ones go first (a ReplicaSet knows not which are idle), and
the metric is never late or wrong.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from lakeshore_elasticity.policies import MOST_WORKERS, Policy
from lakeshore_elasticity.simulator.fleet import Fleet, SimWorker
from lakeshore_elasticity.simulator.scalers import Load, Orders
from lakeshore_elasticity.wanting import ceiling


@dataclass(frozen=True, slots=True)
class KedaHpa:
    """Settings of the baseline; times in seconds. ``max_replicas`` is that of ``fully_elastic`` by default."""

    poll_s: float = 30.0
    sync_s: float = 15.0
    tolerance: float = 0.1
    cooldown_s: float = 300.0
    stabilization_s: float = 300.0
    up_percent: float = 100.0
    up_pods: int = 4
    max_replicas: int = MOST_WORKERS
    name: str = "KEDA+HPA"


def baselines(policies: Iterable[Policy] = ()) -> tuple[KedaHpa, KedaHpa]:
    """Give the baseline with documented defaults, and with the HPA's limit on steps upwards lifted.

    The second waits far less and costs more: it is what a user gets who has tuned ``behavior.scaleUp``.
    Beside ``policies`` both may have as many workers as the one of them that may have the most: under another
    ceiling, the ceilings would be compared.
    """
    most = max(1, max(map(ceiling, policies), default=MOST_WORKERS))
    return (
        KedaHpa(max_replicas=most),
        KedaHpa(up_percent=math.inf, max_replicas=most, name="KEDA+HPA, no step limit"),
    )


class KedaHpaScaler:
    """Runs the baseline's two loops on its clocks."""

    wakes_on_change = False
    floor = 0

    def __init__(self, settings: KedaHpa, seed: int) -> None:
        self._set = settings
        self.name = settings.name
        self._replicas = 0
        phase = random.Random(f"polls:{seed}")  # noqa: S311 - a simulation, no secret
        self._polls_at = phase.uniform(0.0, settings.poll_s)
        self._syncs_at = phase.uniform(0.0, settings.sync_s)
        self._active_at = -math.inf
        self._advice: deque[tuple[float, int]] = deque()

    def orders(self, load: Load, fleet: Fleet, now: float) -> Orders:
        """Run whichever loop is due."""
        before = self._replicas
        if now >= self._polls_at:
            self._polls_at += self._set.poll_s
            self._poll(load, now)
        if now >= self._syncs_at:
            self._syncs_at += self._set.sync_s
            self._sync(load, fleet, now)
        gone = self._victims(fleet, before - self._replicas) if self._replicas < before else ()
        next_s = min(self._polls_at, self._syncs_at) - now
        return Orders(self._replicas, max(0, self._replicas - before), gone, next_s)

    def _poll(self, load: Load, now: float) -> None:
        if load.demand:
            self._active_at = now
            self._replicas = max(self._replicas, 1)
        elif self._replicas and now - self._active_at > self._set.cooldown_s:
            self._replicas = 0
            self._advice.clear()

    def _sync(self, load: Load, fleet: Fleet, now: float) -> None:
        now_there = self._replicas
        if now_there == 0:
            return
        usage = load.demand / fleet.slots
        wanted = now_there
        if abs(usage / now_there - 1) > self._set.tolerance:
            wanted = math.ceil(usage)
        wanted = min(max(wanted, 1), self._set.max_replicas)
        self._advice.append((now, wanted))
        while self._advice[0][0] < now - self._set.stabilization_s:
            self._advice.popleft()
        if wanted > now_there:
            step = max(self._set.up_pods, now_there * self._set.up_percent / 100)
            self._replicas = math.floor(min(wanted, now_there + step))
        else:
            self._replicas = min(now_there, max(count for _, count in self._advice))

    @staticmethod
    def _victims(fleet: Fleet, count: int) -> tuple[str, ...]:
        there = [worker for worker in fleet.alive.values() if worker.phase != "draining"]
        return tuple(worker.id for worker in sorted(there, key=_first_to_go)[:count])


def _first_to_go(worker: SimWorker) -> tuple[bool, bool, float]:
    return worker.phase != "starting", worker.running > 0, -worker.created_at
