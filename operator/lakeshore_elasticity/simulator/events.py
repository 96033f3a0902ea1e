"""The simulation itself: jobs arrive, workers become ready, jobs end, the scaler looks. One heap, no clock."""

from __future__ import annotations

import math
from dataclasses import replace
from heapq import heappop, heappush

from lakeshore_elasticity.simulator.fleet import Fleet, SimWorker
from lakeshore_elasticity.simulator.results import Run, Sample, Sampler, percentile
from lakeshore_elasticity.simulator.scalers import Load, Orders, Scaler
from lakeshore_elasticity.simulator.start_delays import StartDelay
from lakeshore_elasticity.simulator.traces import Trace
from lakeshore_elasticity.steady import moving_rate

READY, DONE = 0, 1
DURATION_WEIGHT = 0.1
DELAY_WEIGHT = 0.3
"""Weights of the newest value in the moving means, as production measures them."""
GIVE_UP_S = 7200.0
"""Simulated seconds without a job starting or ending after which what waits counts as unfinished."""


class Simulation:
    """One scaler on one trace.

    ``tick_s``: the least time between two looks of the scaler. ``known``: what was measured on earlier days.
    """

    def __init__(
        self,
        scaler: Scaler,
        trace: Trace,
        *,
        slots: int,
        delay: StartDelay,
        seed: int,
        tick_s: float,
        known: Load | None = None,
    ) -> None:
        self._scaler = scaler
        self._trace = trace
        self._fleet = Fleet(slots, seed)
        self._draw_delay = delay.sampler(seed)
        self._tick_s = tick_s
        self._heap: list[tuple[float, int, int, SimWorker, float]] = []
        self._arrived = 0
        self._begun = 0
        self._counted = 0
        self._counted_at = 0.0
        self._leased = 0
        self._load = Load() if known is None else replace(known)
        self._waits: list[float] = []
        self._actions = 0
        self._moved_at = 0.0
        self._sampler = Sampler()

    def run(self) -> Run:
        """Play the trace to its end, and on until the fleet is at its floor."""
        now, orders = -self._tick_s, Orders(0, next_s=self._tick_s)
        while True:
            now = self._play_on(now, orders)
            orders = self._look(now)
            if self._over(now):
                break
        self._fleet.close(now)
        return self._result(now)

    def _over(self, now: float) -> bool:
        if self._arrived < len(self._trace.arrivals):
            return False
        if self._begun == self._arrived and not self._leased and len(self._fleet.alive) <= self._scaler.floor:
            return True
        return now - self._moved_at > GIVE_UP_S and not self._leased

    def _play_on(self, looked: float, orders: Orders) -> float:
        """Let everything happen until the scaler looks again, and give that time.

        It looks ``next_s`` after the last time, or after the first thing that happens if it hears of it, but never
        within a tick. When it is calm, only a job that waits and the end of all work are such things.
        """
        arrivals, heap, wakes = self._trace.arrivals, self._heap, self._scaler.wakes_on_change
        count = len(arrivals)
        earliest = looked + self._tick_s
        look_at = max(looked + orders.next_s, earliest)
        calm = orders.calm
        while True:
            index = self._arrived
            event_at = heap[0][0] if heap else math.inf
            if index < count and arrivals[index] <= event_at:
                now = arrivals[index]
                if now > look_at:
                    return look_at
                self._arrived = index + 1
                self._moved_at = now
            elif event_at > look_at:
                return look_at
            else:
                now = event_at
                self._end_event(heappop(heap), now)
            if self._begun < self._arrived:
                self._claim(now)
                calm = calm and self._begun == self._arrived
            if wakes and look_at > earliest and not (calm and (self._leased or self._arrived < count)):
                look_at = max(now, earliest)

    def _end_event(self, event: tuple[float, int, int, SimWorker, float], now: float) -> None:
        _, _, kind, worker, seconds = event
        if kind == DONE:
            self._done(worker, seconds, now)
        elif worker.phase == "starting":
            self._ready(worker, seconds, now)

    def _done(self, worker: SimWorker, seconds: float, now: float) -> None:
        self._leased -= 1
        self._moved_at = now
        self._fleet.release(worker, now)
        load = self._load
        mean = load.mean_duration_s
        load.mean_duration_s = seconds if mean is None else mean + DURATION_WEIGHT * (seconds - mean)

    def _ready(self, worker: SimWorker, seconds: float, now: float) -> None:
        self._fleet.ready(worker, now)
        load = self._load
        mean = load.start_delay_s
        load.start_delay_s = seconds if mean is None else mean + DELAY_WEIGHT * (seconds - mean)

    def _claim(self, now: float) -> None:
        trace, fleet, heap = self._trace, self._fleet, self._heap
        while self._begun < self._arrived and fleet.free:
            job = self._begun
            self._begun = job + 1
            self._leased += 1
            self._moved_at = now
            self._waits.append(now - trace.arrivals[job])
            takes = trace.durations[job]
            heappush(heap, (now + takes, job, DONE, fleet.claim(now), takes))

    def _look(self, now: float) -> Orders:
        """Let the scaler decide, and do what it says."""
        load, fleet = self._load, self._fleet
        load.queued = self._arrived - self._begun
        load.leased = self._leased
        load.oldest_age_s = now - self._trace.arrivals[self._begun] if load.queued else 0.0
        load.revision += 1
        self._measure_rate(now)
        orders = self._scaler.orders(load, fleet, now)
        for name in orders.remove:
            fleet.remove(name, now)
        for _ in range(orders.start):
            takes = self._draw_delay()
            worker = fleet.order(now)
            heappush(self._heap, (now + takes, fleet.ordered, READY, worker, takes))
        self._actions += bool(orders.start or orders.remove)
        self._sampler.add(Sample(now, load.queued, load.leased, orders.wanted, len(fleet.alive)))
        return orders

    def _measure_rate(self, now: float) -> None:
        load = self._load
        load.arrivals_per_s = moving_rate(
            load.arrivals_per_s, self._arrived - self._counted, now - self._counted_at
        )
        if now > self._counted_at:
            self._counted, self._counted_at = self._arrived, now

    def _result(self, now: float) -> Run:
        waits = sorted(self._waits)
        return Run(
            name=self._scaler.name,
            jobs=len(self._trace),
            unfinished=self._arrived - self._begun,
            wait_p50_s=percentile(waits, 0.5),
            wait_p95_s=percentile(waits, 0.95),
            wait_p99_s=percentile(waits, 0.99),
            wait_max_s=waits[-1] if waits else 0.0,
            spent=self._fleet.spent,
            scale_actions=self._actions,
            orders=self._fleet.ordered,
            most_workers=self._fleet.most,
            end_s=now,
            samples=self._sampler.samples(),
        )
