"""The worker's parent loop: it claims, keeps leases and reports; bodies run in its slots' children."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time
from collections.abc import Iterable

from dreamlake.lakeshore.dispatch.plane import Claimed, Plane
from dreamlake.lakeshore.errors import PlaneLostError, WorkerError
from dreamlake.lakeshore.home import home
from dreamlake.lakeshore.worker.asking import Asking
from dreamlake.lakeshore.worker.backlog import Backlog
from dreamlake.lakeshore.worker.counters import Counters
from dreamlake.lakeshore.worker.hearing import Hearing
from dreamlake.lakeshore.worker.leases import HEARTBEAT_S, Leases
from dreamlake.lakeshore.worker.limits import inspect, next_look_s
from dreamlake.lakeshore.worker.mounts import Mounts
from dreamlake.lakeshore.worker.options import WorkerOptions
from dreamlake.lakeshore.worker.outbox import DoneReport
from dreamlake.lakeshore.worker.placing import Placing
from dreamlake.lakeshore.worker.postmortem import LEASE_LOST, STOPPED, reports_after_death, timed_out
from dreamlake.lakeshore.worker.slot import Slot
from dreamlake.lakeshore.worker.slots import Slots
from dreamlake.lakeshore.worker.stopping import StopSwitch
from dreamlake.lakeshore.worker.timers import Timers

log = logging.getLogger("lakeshore.worker")

_LOOK_AGAIN_S = 5.0  # between claims of an idle worker that nothing woke: a belt to the wake-ups' braces
_POLL_S = 0.05  # the same where wake-ups cannot be had
_CANCEL_CHECK_S = 0.02  # after a wake-up, which may tell of a cancel; but see _CHECK_SHARE
_CHECK_SHARE = 0.05  # of the time at most is spent on such checks
_PLANE_RETRY_S = 1.0
_START_TRIES = 5
_RETIRE_S = 30.0  # that shutdown hooks may take in a process that makes place for other code


class Supervisor:
    """One worker process. ``run`` returns the number of bodies that ended."""

    def __init__(
        self,
        plane: Plane,
        queue: str,
        options: WorkerOptions,
        switch: StopSwitch,
        *,
        kind: str = "fifo",
        temperature: float = 1.0,
    ) -> None:
        self.options = options
        self.switch = switch
        self.counters = Counters()
        self._queue = queue
        self._leases = Leases(plane, queue, options, self.counters, kind=kind, temperature=temperature)
        self._timers = Timers()
        self._backlog = Backlog(self._leases)
        self._slots = Slots(
            {
                "root": os.fspath(options.root),
                "allow_pickled": options.allow_pickled,
                "runtime_policy": options.runtime_policy,
                "retries": options.retries,
            }
        )
        self._asking = Asking(self._leases, self._backlog, self._slots)
        self._hearing = Hearing(
            lambda: plane.listen(f"work:{queue}"), self._slots, sparing=self._asking.possible
        )
        self._mounts = Mounts(plane, home() / "code")
        self._placing = Placing(self._mounts, self._slots, options.retries)
        self._hungry = True  # whether a claim may find something: set by wake-ups, cleared by a short answer
        self._answered = True  # whether the plane took the last claim: without an answer nobody is idle
        self._start_failures = 0
        self._renewal_s = 0.0
        self._idle_since = time.monotonic()
        self._drain_began: float | None = None

    def run(self) -> int:
        """Work until told to stop, out of jobs (``max_jobs``) or out of work (``idle_exit_s``)."""
        try:
            self._begin()
            while not self._is_over():
                self._step()
        finally:
            self._end()
        return self.counters.executed

    # -- the loop
    def _begin(self) -> None:
        self._leases.register("starting")
        self._slots.watch(self.switch.fileno(), self.switch)
        self._hearing.begin()
        self._slots.watch(self._mounts.fileno(), self._mounts)
        for _ in range(self.options.concurrency):
            self._slots.add()
        now = time.monotonic()
        self._timers.set("heartbeat", now + HEARTBEAT_S)
        self._timers.set("renew", now + self.options.renew_every_s)
        log.info("worker %s takes jobs from queue %r", self._leases.worker_id, self._queue)

    def _step(self) -> None:
        now = time.monotonic()
        if self.switch.draining:
            self._drain(now)
        self._run_timers(now)
        self._enforce_limits(now)
        if self._hearing.attend(now):
            self._renew(now)
        self._claim(now)
        if self._placing.held:
            self._place()
        if self._leases.drain_ordered and not self.switch.draining:
            self.switch.request(at_least=1)  # which also ends the wait below
        self._collect(self._wait_s(time.monotonic()))
        if not self._asks_next(time.monotonic()):  # else the ends ride on that question
            self._let_go(self._backlog.deliver())

    def _is_over(self) -> bool:
        if self.switch.stopping:
            return True
        if self._backlog or self._placing.held or any(not slot.is_idle for slot in self._slots):
            return False
        if self.switch.draining or self._jobs_left() == 0:
            return True
        idle_exit = self.options.idle_exit_s
        if (
            idle_exit is None
            or (self._hungry and not self._asking.found_nothing(time.monotonic()))
            or not self._answered
            or not any(slot.ready for slot in self._slots)
        ):
            return False
        return time.monotonic() - self._idle_since >= idle_exit

    def _wait_s(self, now: float) -> float:
        limits = [
            self._timers.next_in(now),
            self._backlog.next_in(now),
            HEARTBEAT_S,
            self._hearing.next_in(now),
        ]
        limits += [next_look_s(slot.running(), slot.held, now) for slot in self._slots]
        if self._drain_began is not None and self.options.drain_timeout_s is not None:
            limits.append(self._drain_began + self.options.drain_timeout_s - now)
        if self.options.idle_exit_s is not None:
            limits.append(max(self._idle_since + self.options.idle_exit_s - now, 0.01))
        if self._wanted() > 0 and self._hungry and not self.switch.draining and not self._placing.held:
            limits.append(self._asking.next_in(now) if self._asking.possible else 0.0)
        return max(0.0, min(limits))

    # -- claims
    def _jobs_left(self) -> float:
        most = self.options.max_jobs
        return math.inf if most is None else most - self.counters.claimed + self.counters.released

    def _wanted(self) -> int:
        return int(min(sum(slot.room for slot in self._slots), self._jobs_left()))

    def _may_claim(self, now: float) -> bool:
        if not self._hungry or self.switch.draining or self._placing.held:
            return False
        return self._asking.next_in(now) <= 0 if self._asking.possible else not self._backlog

    def _asks_next(self, now: float) -> bool:
        may_ride = self._asking.possible and self._backlog.rides
        return may_ride and self._may_claim(now) and self._wanted() > 0

    def _claim(self, now: float) -> None:
        wanted = self._wanted()
        if wanted <= 0 or not self._may_claim(now):
            return
        if self._asking.possible:
            if not self._asking.begin(wanted):
                self._rest_from_claims(now)
            return
        jobs = self._leases.claim(wanted)
        if jobs is None:
            self._rest_from_claims(now)
            return
        self._take_in(jobs)
        if len(jobs) < wanted:  # looked up while the bodies run already
            self._hungry = False
            self._timers.set("look", now + self._pause_s())

    def _rest_from_claims(self, now: float) -> None:
        self._answered = self._hungry = False
        self._timers.set("look", now + _PLANE_RETRY_S)

    def _take_in(self, jobs: list[Claimed]) -> None:
        self._answered = True
        self._placing.add(jobs)
        self._place()

    def _take_answer(self) -> None:
        jobs, again = self._asking.take()
        if jobs is None:
            self._rest_from_claims(time.monotonic())
            return
        self._take_in(jobs)
        if not again:  # it gives this worker nothing now, or goes away
            self._hungry = False
            self._timers.set("look", time.monotonic() + _PLANE_RETRY_S)

    def _place(self) -> None:
        reports, surplus = self._placing.place()
        self._backlog.add(reports)
        if surplus:
            self._hand_back(surplus)

    def _pause_s(self) -> float:
        most = _LOOK_AGAIN_S if self._hearing.has_descriptor else _POLL_S
        due = self._leases.next_due()
        return most if due is None else min(max(due, 0.005), most)

    # -- time
    def _run_timers(self, now: float) -> None:
        for name in self._timers.due(now):
            if name == "look":
                self._hungry = True
            elif name == "heartbeat":
                self._heartbeat(now)
            elif name in {"renew", "cancel-check"}:
                self._renew(now)

    def _heartbeat(self, now: float) -> None:
        self._leases.register("draining" if self.switch.draining else "active")
        self._timers.set("heartbeat", now + HEARTBEAT_S)
        self._hearing.rest()
        for slot in self._slots:
            slot.hurry(_RETIRE_S)
            if slot.has_ended():
                self._bury(slot)

    def _renew(self, now: float) -> None:
        held = [job for slot in self._slots for job in slot.held]
        lost = self._leases.renew(held + self._placing.held)
        self._renewal_s = time.monotonic() - now
        pause = self.options.renew_every_s
        self._timers.set("renew", now + (min(_PLANE_RETRY_S, pause) if lost is None else pause))
        self._let_go(lost or set())

    def _let_go(self, lost: set[str]) -> None:
        """Stop what is not ours any more: cancelled, or given to another worker after the lease ran out."""
        self._placing.lose(lost)
        for slot in self._slots if lost else ():
            if not any(job.id in lost for job in slot.held):
                continue
            self._hand_back(job for job in slot.take_back() if job.id not in lost)
            running = slot.running()
            if running is not None and running[0].id in lost:
                slot.kill(LEASE_LOST, running[0])

    def _hand_back(self, jobs: Iterable[Claimed]) -> None:
        self._leases.release(jobs)
        self._hungry = True

    def _enforce_limits(self, now: float) -> None:
        for slot in self._slots:
            if slot.killed_because is not None:
                continue
            running = slot.running()
            found = inspect(running, slot.held, now)
            if found == "timeout" and running is not None and running[0].timeout_s is not None:
                slot.kill(timed_out(running[0].timeout_s), running[0])
            elif found == "stuck":
                self._hand_back(slot.take_back())

    def _drain(self, now: float) -> None:
        if self._drain_began is None:
            self._drain_began = now
            self.counters.draining = True
            self._asking.withdraw()
            self._leases.release(self._placing.take_back())
            for slot in self._slots:
                self._leases.release(slot.take_back())
            self._leases.register("draining")
            log.info("draining: running jobs end, none is started")
        limit = self.options.drain_timeout_s
        if limit is not None and now - self._drain_began >= limit:
            self.switch.request(at_least=2)

    # -- what the slots say
    def _collect(self, timeout: float) -> None:
        for owner in self._slots.wait(timeout, reading=not self._backlog.full):
            if isinstance(owner, Slot):
                self._read(owner)
            elif owner is self._asking:
                self._take_answer()
            elif owner is self._hearing:
                self._woken()
            elif owner is self._mounts:
                self._mounts.clear()
            else:
                self.switch.clear()

    def _woken(self) -> None:
        self._hearing.hear()
        self._hungry = True
        if any(not slot.is_idle for slot in self._slots):
            pause = max(_CANCEL_CHECK_S, self._renewal_s / _CHECK_SHARE)
            self._timers.set_earlier("cancel-check", time.monotonic() + pause)

    def _read(self, slot: Slot) -> None:
        was_ready = slot.ready
        try:
            reports = slot.read()
        except EOFError:
            self._bury(slot)
            return
        self._backlog.add(reports)
        self._hand_back(slot.take_skipped())
        if any(isinstance(report, DoneReport) for report in reports):
            self._idle_since = time.monotonic()
        if slot.ready and not was_ready:
            self._start_failures = 0
            self._idle_since = time.monotonic()
            if not self.counters.ready:
                self.counters.ready = True
                self._leases.register("active")

    def _bury(self, slot: Slot) -> None:
        self._slots.remove(slot)
        self._backlog.add(slot.last_words(timeout=0))
        status = self._settle(slot)
        if not slot.ready:
            self._start_failures += 1
            if slot.start_failure is not None or self._start_failures >= _START_TRIES:
                reason = slot.start_failure or f"its process ended with status {status} before it was ready"
                raise WorkerError(f"the worker cannot start: {reason}")
        if not self.switch.draining and (self._jobs_left() > 0 or self._placing.held):
            self._slots.add()

    def _settle(self, slot: Slot) -> int:
        """Account for what a dead slot held."""
        status, out_of_memory = slot.reap()
        reports, unstarted = reports_after_death(
            slot, status, out_of_memory=out_of_memory, retries=self.options.retries
        )
        self._backlog.add(reports)
        self._leases.release(unstarted + slot.take_skipped())
        slot.close()
        return status

    def _end(self) -> None:
        """Leave nothing behind: children ended, running jobs handed back, the record removed."""
        self._asking.withdraw()
        self._leases.release(self._placing.take_back())
        for slot in self._slots:
            if slot.is_idle:
                slot.stop()
            else:
                slot.kill(STOPPED)
        for slot in self._slots:
            self._backlog.add(slot.last_words())
            self._settle(slot)
        with contextlib.suppress(PlaneLostError):
            self._backlog.deliver(at_once=True)
        self._leases.sign_off()
        self._hearing.close()
        self._slots.close()
        self._mounts.close()
