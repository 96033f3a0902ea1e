"""From what the plane and the process table say to the signals that a policy reads."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dreamlake.lakeshore.dispatch.plane import QueueSignals, QueueState, WorkerRecord
from dreamlake.lakeshore.pool.processes import WorkerProcess
from lakeshore_elasticity import Signals, Worker
from lakeshore_elasticity.steady import moving_rate


@dataclass(slots=True)
class StartRecord:
    """How this pool's starts went: the mean delay of those that worked, the failures since the last of them."""

    delay_s: float | None = None
    failures: int = 0
    last_failure_at: float | None = None
    failure: str = ""

    def worked(self, delay_s: float) -> None:
        """Note a worker that became ready ``delay_s`` seconds after its start."""
        self.delay_s = delay_s if self.delay_s is None else self.delay_s + 0.3 * (delay_s - self.delay_s)
        self.failures, self.failure = 0, ""

    def failed(self, at: float, why: str, *, started_at: float) -> None:
        """Note a worker that was started at ``started_at`` and ended before it was ready.

        Those that were on their way together fail together, which is one failure and not many in a row.
        """
        if self.last_failure_at is None or self.failures == 0 or started_at > self.last_failure_at:
            self.failures += 1
        self.last_failure_at = at
        self.failure = why


@dataclass(slots=True)
class ArrivalRate:
    """How fast jobs come, as a moving mean over the plane's count of all that came."""

    per_s: float = 0.0
    _last: tuple[int, float] | None = None

    def update(self, seen: QueueSignals) -> float:
        """Take in a snapshot and give the rate, per second."""
        if self._last is not None:
            arrived, at = self._last
            self.per_s = moving_rate(self.per_s, max(0, seen.arrived - arrived), seen.as_of - at)
        self._last = (seen.arrived, seen.as_of)
        return self.per_s


def signals_of(
    seen: QueueSignals,
    lifecycle: QueueState,
    processes: Iterable[WorkerProcess],
    records: Mapping[int, WorkerRecord],
    starts: StartRecord,
    *,
    slots: int,
    arrivals_per_s: float = 0.0,
) -> Signals:
    """Put one snapshot together. ``records``: the plane's worker records of this machine by process id."""
    workers = tuple(_worker(process, record_of(process, records)) for process in processes)
    return Signals(
        queued=seen.queued,
        leased=seen.leased,
        as_of=seen.as_of,
        workers=workers,
        oldest_age_s=seen.oldest_age_s,
        slots=slots,
        lifecycle=lifecycle,
        mean_duration_s=seen.mean_duration_s,
        start_delay_s=starts.delay_s,
        arrivals_per_s=arrivals_per_s,
        revision=seen.revision,
        start_failures=starts.failures,
        last_failure_at=starts.last_failure_at,
        failure=starts.failure,
    )


def is_ready(record: WorkerRecord | None) -> bool:
    """Say whether a worker has got so far that it takes jobs."""
    return record is not None and record.state != "starting"


def records_here(records: Iterable[WorkerRecord]) -> dict[int, WorkerRecord]:
    """Give the records of this machine's workers by process id: of each id the latest."""
    here = socket.gethostname()
    ours = (record for record in records if record.host == here)
    return {record.pid: record for record in sorted(ours, key=lambda record: record.started_at)}


def record_of(process: WorkerProcess, records: Mapping[int, WorkerRecord]) -> WorkerRecord | None:
    """Give the record of a process; one that an earlier process of the same id left behind is not it."""
    record = records.get(process.pid)
    return record if record is not None and record.started_at >= process.started_at else None


def _worker(process: WorkerProcess, record: WorkerRecord | None) -> Worker:
    created = process.started_at
    if process.drain_began is not None:
        leased = 0 if record is None else record.leased
        return Worker(process.name, "draining", process.drain_began, created, leased=leased)
    if record is None or not is_ready(record):
        return Worker(process.name, "starting", created, created)
    if record.leased or record.idle_since is None:
        return Worker(process.name, "ready_busy", created, created)
    return Worker(process.name, "ready_idle", max(record.idle_since, created), created)
