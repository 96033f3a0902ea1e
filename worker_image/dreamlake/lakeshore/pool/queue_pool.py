"""One queue's pool: observe, decide, apply. Everything is recomputed from what is seen at each tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dreamlake.lakeshore.dispatch.plane import Plane, WorkerRecord
from dreamlake.lakeshore.pool.events import ElasticityEvent, EventFilter
from dreamlake.lakeshore.pool.observing import (
    ArrivalRate,
    StartRecord,
    is_ready,
    record_of,
    records_here,
    signals_of,
)
from dreamlake.lakeshore.pool.plane_time import PlaneTime
from dreamlake.lakeshore.pool.processes import Ended, ProcessPool, last_lines
from dreamlake.lakeshore.pool.queue_file import QueueSpec
from lakeshore_elasticity import Decision, Signals, State, decide


@dataclass(frozen=True, slots=True)
class PoolView:
    """What there is to see of a queue's pool after a tick. ``event`` is set when there is something to tell."""

    spec: QueueSpec
    signals: Signals
    decision: Decision
    delayed: int
    finished: int
    event: ElasticityEvent | None

    def phase_count(self, *phases: str) -> int:
        """Count the workers in some phases."""
        return sum(worker.phase in phases for worker in self.signals.workers)


class QueuePool:
    """The workers of one queue on this machine."""

    def __init__(self, plane: Plane, spec: QueueSpec, command: Sequence[str], log_dir: Path) -> None:
        self.spec = spec
        self._plane = plane
        self._now = PlaneTime(plane)
        self.processes = ProcessPool(spec.name, command, log_dir, clock=self._now)
        self._state: State | None = None
        self._starts = StartRecord()
        self._arrivals = ArrivalRate()
        self._was_ready: set[str] = set()
        self._filter = EventFilter()
        self._ended: list[Ended] = []

    def reap(self) -> None:
        """Collect the processes that have ended. Needs no plane, so a pool can end without one."""
        self._ended += self.processes.reap()

    def tick(self, *, closing: bool = False) -> PoolView:
        """Look, decide and act once. ``closing``: only look; the pool is being drained for good."""
        name = self.spec.name
        records = records_here(self._plane.workers(name))
        self._account(records)
        self._note_ready(records)
        self._note_draining(records)
        seen = self._plane.signals(name)
        self._now.heard(seen.as_of)
        queue = self._plane.queue_record(name)
        signals = signals_of(
            seen,
            "active" if queue is None else queue.state,
            self.processes.workers.values(),
            records,
            self._starts,
            slots=self.spec.worker.concurrency,
            arrivals_per_s=self._arrivals.update(seen),
        )
        decision = decide(self.spec.policy, signals, self._state, seen.as_of)
        if closing:
            decision = Decision(0, 0, "the pool is closing: running jobs end, none is started", "tick_noop")
        else:
            self._state = decision.state
            self._apply(decision)
        event = self._filter.event(name, signals, decision)
        return PoolView(self.spec, signals, decision, seen.delayed, seen.finished, event)

    def _apply(self, decision: Decision) -> None:
        for name in (*decision.cancel, *decision.victims):
            self.processes.drain(name)
        for _ in range(decision.start):
            try:
                self.processes.start()
            except OSError as exc:
                now = self._now()
                self._starts.failed(now, f"this machine cannot start a process: {exc}", started_at=now)
                return

    def _note_ready(self, records: Mapping[int, WorkerRecord]) -> None:
        for process in self.processes.workers.values():
            if process.name not in self._was_ready and is_ready(record_of(process, records)):
                self._was_ready.add(process.name)
                self._starts.worked(max(0.0, self._now() - process.started_at))

    def _note_draining(self, records: Mapping[int, WorkerRecord]) -> None:
        """Count out those that were told to go by somebody else: others may have to come in their place."""
        for process in self.processes.workers.values():
            record = record_of(process, records)
            if not process.draining and record is not None and record.state == "draining":
                process.drain_began = self._now()

    def _account(self, records: Mapping[int, WorkerRecord]) -> None:
        """Learn from workers that have ended, and remove the records of those that could not do it themselves."""
        while self._ended:
            end = self._ended[0]
            record = record_of(end.worker, records)
            if record is not None:
                self._plane.remove_worker(record.id)
            self._ended.pop(0)
            ready = end.worker.name in self._was_ready or is_ready(record)
            self._was_ready.discard(end.worker.name)
            if not (end.worker.draining or ready or end.status == 0):  # 0: it was told to go by somebody else
                why = last_lines(end.worker.log, 1) or end.in_words
                self._starts.failed(
                    self._now(), f"{why} (log: {end.worker.log})", started_at=end.worker.started_at
                )
