"""The simple worker: bodies run in this process, one at a time."""

from __future__ import annotations

import select
import time
from collections.abc import Callable

from dreamlake.lakeshore.dispatch.plane import Finished, Plane
from dreamlake.lakeshore.errors import DispatchError, FencedError, PlaneLostError
from dreamlake.lakeshore.worker.counters import Counters
from dreamlake.lakeshore.worker.execution import Executor
from dreamlake.lakeshore.worker.keeper import LeaseKeeper
from dreamlake.lakeshore.worker.leases import Leases
from dreamlake.lakeshore.worker.options import WorkerOptions
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, Outbox, Report
from dreamlake.lakeshore.worker.postmortem import STOPPED
from dreamlake.lakeshore.worker.prefetch import Prefetch
from dreamlake.lakeshore.worker.stopping import StopSwitch
from dreamlake.lakeshore.worker.timeouts import time_limit

_LOOK_AGAIN_S = 5.0
_PLANE_RETRY_S = 1.0


class InProcessWorker:
    """Claims, runs and reports in one loop; a thread of its own keeps the leases (see ``LeaseKeeper``)."""

    def __init__(
        self,
        plane: Plane,
        queue: str,
        options: WorkerOptions,
        *,
        kind: str = "fifo",
        temperature: float = 1.0,
        stop: Callable[[], bool] | None = None,
        poll: float = 0.05,
        switch: StopSwitch | None = None,
    ) -> None:
        """``stop`` is asked between jobs and, while idle, every ``poll`` seconds; ``switch`` wakes by itself."""
        self.options = options
        self.counters = Counters()
        self._stop = stop
        self._poll = poll
        self._switch = switch
        self._leases = Leases(plane, queue, options, self.counters, kind=kind, temperature=temperature)
        self._prefetch = Prefetch()
        self._outbox = Outbox(self._deliver)
        self._listener = plane.listen(f"work:{queue}")
        self._keeper = LeaseKeeper(self._leases, options.renew_every_s, draining=self._is_draining)
        self._executor = Executor(
            root=options.root,
            allow_pickled=options.allow_pickled,
            runtime_policy=options.runtime_policy,
            retries=options.retries,
            registry=options.registry,
            report=self._report,
            interruptible=True,
            limit=time_limit,
        )

    def run(self) -> int:
        """Work until ``stop`` says so, out of jobs (``max_jobs``) or out of work (``idle_exit_s``)."""
        self._leases.register("active")
        self._executor.set_up()
        self._keeper.start()
        self.counters.ready = True
        try:
            self._loop()
        finally:
            self._end()
        return self.counters.executed

    def _loop(self) -> None:
        idle_since = time.monotonic()
        while not self._told_to_stop() and self._jobs_left() > 0:
            claimed = self._claim()
            if claimed:
                self._run_held()
            if claimed is None:
                self._wait(_PLANE_RETRY_S)
            if claimed is not False:
                idle_since = time.monotonic()
                continue
            idle_exit = self.options.idle_exit_s
            if idle_exit is not None and time.monotonic() - idle_since >= idle_exit:
                return
            if not self._is_draining():  # the claim may have brought the order
                self._wait(idle_exit)

    def _told_to_stop(self) -> bool:
        return self._is_draining() or (self._stop is not None and self._stop())

    def _is_draining(self) -> bool:
        if self._leases.drain_ordered or (self._switch is not None and self._switch.draining):
            self.counters.draining = True
        return self.counters.draining

    def _jobs_left(self) -> int:
        most = self.options.max_jobs
        return 1 << 30 if most is None else most - self.counters.executed

    def _claim(self) -> bool | None:
        """Claim; None when the plane does not answer now: then nobody is idle."""
        jobs = self._leases.claim(min(self._prefetch.window, self._jobs_left()))
        self._keeper.claimed(jobs or [])
        return None if jobs is None else bool(jobs)

    def _run_held(self) -> None:
        while (job := self._keeper.begin_next()) is not None:
            try:
                self._executor.execute(job)
            except KeyboardInterrupt:
                handed_back = Finished(job.id, job.attempt, error=STOPPED, retry=True)
                self._outbox.add(DoneReport(handed_back, 0.0))
                raise
            finally:
                self._keeper.end()
            if self._told_to_stop():
                return
        self._outbox.flush()

    def _wait(self, idle_exit: float | None) -> None:
        due = self._leases.next_due()
        limits = [_LOOK_AGAIN_S]
        if due is not None:
            limits.append(max(due, 0.005))
        if self._stop is not None:
            limits.append(self._poll)
        if idle_exit is not None:
            limits.append(max(idle_exit / 4, 0.005))
        fd = self._listener.fileno()
        if self._switch is None or fd < 0:
            self._listen(min(limits) if self._switch is None else min(*limits, self._poll))
            return
        readable, _, _ = select.select([fd, self._switch.fileno()], [], [], min(limits))
        if fd in readable:
            self._listener.wait(0)

    def _listen(self, timeout: float) -> None:
        try:
            self._listener.wait(timeout)
        except PlaneLostError:
            raise
        except DispatchError:  # the next claim says so in the log
            time.sleep(timeout)

    def _report(self, report: Report, size: int = 0) -> None:
        """Queue a report. Raises ``FencedError`` for a frame of a body that may as well stop."""
        self._outbox.add(report, size)
        if isinstance(report, FrameReport) and self._keeper.has_lost(report.id):
            raise FencedError(f"{report.id} was cancelled, or its lease ran out: its body was closed")

    def _deliver(self, reports: list[Report]) -> None:
        until = time.monotonic() + self.options.lease_s
        while (lost := self._leases.report(reports)) is None:
            if time.monotonic() >= until:
                raise DispatchError(
                    "the plane took no reports for as long as a lease; what ran will run again"
                )
            time.sleep(_PLANE_RETRY_S)
        self._keeper.lose(lost)
        ends = [report for report in reports if isinstance(report, DoneReport)]
        self._prefetch.observe(sum(end.duration_s for end in ends), len(ends))
        self._keeper.reported(end.finished.id for end in ends)

    def _end(self) -> None:
        self._keeper.stop()
        try:
            self._outbox.close()
            self._leases.release(self._keeper.waiting)
            self._leases.sign_off()
            self._executor.tear_down()
        finally:
            self._listener.close()
