"""Simulated workers: their phases, their free slots, and what their time was spent on."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lakeshore_elasticity.signals import Phase, Worker

SimPhase: TypeAlias = Phase | Literal["gone"]


class SimWorker:
    """One worker. ``place``: its index among the free ones, -1 when it has no free slot."""

    __slots__ = (
        "busy_s",
        "created_at",
        "id",
        "idle_s",
        "phase",
        "place",
        "running",
        "since",
        "starting_s",
        "used",
    )  # fmt: skip

    def __init__(self, name: str, now: float) -> None:
        self.id = name
        self.phase: SimPhase = "starting"
        self.since = self.created_at = now
        self.running = 0
        self.place = -1
        self.used = False
        self.starting_s = self.idle_s = self.busy_s = 0.0


@dataclass(slots=True)
class Spent:
    """Worker-seconds from order to end, by use. ``busy_s``: at least one job. ``idle_s``: ready, without any.

    ``starting_s``: until ready, of workers that got a job later. ``wasted_s``: the whole life of those that
    never got one.
    """

    busy_s: float = 0.0
    idle_s: float = 0.0
    starting_s: float = 0.0
    wasted_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All of them."""
        return self.busy_s + self.idle_s + self.starting_s + self.wasted_s


class Fleet:
    """All workers that exist. Free slots go to a worker drawn at random, as claims race in production."""

    def __init__(self, slots: int, seed: int) -> None:
        self.slots = slots
        self.alive: dict[str, SimWorker] = {}
        self.free: list[SimWorker] = []
        self.spent = Spent()
        self.ordered = 0
        self.most = 0
        self._draw = random.Random(f"claims:{seed}").random  # noqa: S311 - a simulation, no secret
        self._views: dict[str, Worker] = {}
        self._changed: dict[str, SimWorker] = {}

    def order(self, now: float) -> SimWorker:
        """Add a worker that starts."""
        self.ordered += 1
        worker = SimWorker(f"w{self.ordered:07d}", now)
        self.alive[worker.id] = self._changed[worker.id] = worker
        self.most = max(self.most, len(self.alive))
        return worker

    def ready(self, worker: SimWorker, now: float) -> None:
        """A worker has started."""
        worker.starting_s = now - worker.since
        self._enter(worker, "ready_idle", now)
        worker.place = len(self.free)
        self.free.append(worker)

    def claim(self, now: float) -> SimWorker:
        """Give a free slot to a job. There must be one."""
        free = self.free
        worker = free[int(self._draw() * len(free))] if len(free) > 1 else free[0]
        if worker.running == 0:
            worker.idle_s += now - worker.since
            worker.used = True
            self._enter(worker, "ready_busy", now)
        worker.running += 1
        if worker.running == self.slots:
            self._leave_free(worker)
        return worker

    def release(self, worker: SimWorker, now: float) -> None:
        """A job has ended; a draining worker goes with its last one."""
        worker.running -= 1
        if worker.running == 0:
            worker.busy_s += now - worker.since
            worker.since = now
            if worker.phase == "draining":
                self._end(worker)
                return
            self._enter(worker, "ready_idle", now)
        if worker.place < 0 and worker.phase != "draining":
            worker.place = len(self.free)
            self.free.append(worker)

    def remove(self, name: str, now: float) -> None:
        """Cancel a start, or drain a worker: at once when it is idle, after its last job else."""
        worker = self.alive[name]
        self._leave_free(worker)
        if worker.running:
            worker.phase = "draining"
            self._changed[name] = worker
            return
        if worker.phase == "starting":
            worker.starting_s = now - worker.since
        else:
            worker.idle_s += now - worker.since
        self._end(worker)

    def views(self) -> tuple[tuple[Worker, ...], int]:
        """Give the workers as a policy sees them, and how many busy ones are left out (see ``Signals.more_busy``).

        Only those that changed since the last call are made anew.
        """
        views = self._views
        for name, worker in self._changed.items():
            phase = worker.phase
            if phase == "ready_busy" or phase == "gone":  # noqa: PLR1714 - narrows the type
                views.pop(name, None)
            else:
                views[name] = Worker(name, phase, worker.since, worker.created_at, leased=worker.running)
        self._changed.clear()
        return tuple(views.values()), len(self.alive) - len(views)

    def close(self, now: float) -> None:
        """Book what is left at the end of a run."""
        for name in list(self.alive):
            worker = self.alive[name]
            if worker.running:
                worker.running = 0
                worker.busy_s += now - worker.since
                self._end(worker)
            else:
                self.remove(name, now)

    def _enter(self, worker: SimWorker, phase: Phase, now: float) -> None:
        worker.phase = phase
        worker.since = now
        self._changed[worker.id] = worker

    def _leave_free(self, worker: SimWorker) -> None:
        place = worker.place
        if place < 0:
            return
        last = self.free.pop()
        if last is not worker:
            self.free[place] = last
            last.place = place
        worker.place = -1

    def _end(self, worker: SimWorker) -> None:
        worker.phase = "gone"
        del self.alive[worker.id]
        self._views.pop(worker.id, None)
        self._changed.pop(worker.id, None)
        spent = self.spent
        if worker.used:
            spent.busy_s += worker.busy_s
            spent.idle_s += worker.idle_s
            spent.starting_s += worker.starting_s
        else:
            spent.wasted_s += worker.starting_s + worker.idle_s
