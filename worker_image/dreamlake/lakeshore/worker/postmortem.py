"""What becomes of the claims that a slot's process held when it died."""

from __future__ import annotations

import time

from dreamlake.lakeshore.attempt.failure import crash_info
from dreamlake.lakeshore.attempt.retrying import pause_s, retries_left
from dreamlake.lakeshore.dispatch.plane import Claimed, Finished
from dreamlake.lakeshore.errors import ErrorInfo
from dreamlake.lakeshore.worker.outbox import DoneReport, Report
from dreamlake.lakeshore.worker.slot import Slot

STOPPED = ErrorInfo("WorkerStopped", "the worker was told to stop while the job ran; it was handed back")
BYSTANDER = ErrorInfo("WorkerStopped", "its process was ended on account of another job; it was handed back")
LEASE_LOST = ErrorInfo("LeaseLost", "cancelled, or the lease ran out; nothing more is reported of it")


def timed_out(limit_s: float) -> ErrorInfo:
    """Describe an attempt that was ended at its time limit."""
    return ErrorInfo("JobTimeout", f"ran longer than its limit of {limit_s:g} s; its process was ended")


def reports_after_death(
    slot: Slot, status: int, *, out_of_memory: bool, retries: int
) -> tuple[list[Report], list[Claimed]]:
    """Give the reports to make and the claims whose bodies never started (to be released).

    The body that ran is blamed for the death, unless the parent caused it. Bodies that had ended, but whose
    reports died with the process, run again without blame.
    """
    current = slot.current_ordinal()
    reports: list[Report] = []
    unstarted: list[Claimed] = []
    for ordinal, job in slot.held_by_ordinal().items():
        if ordinal > current:
            unstarted.append(job)
        elif ordinal < current:
            lost = ErrorInfo("WorkerCrash", "its result was lost: the process died before it was reported")
            reports.append(DoneReport(Finished(job.id, job.attempt, error=lost, retry=True), 0.0))
        else:
            end = _end_of_current(slot, job, status, out_of_memory=out_of_memory, retries=retries)
            if end is not None:
                reports.append(DoneReport(end, max(0.0, time.monotonic() - slot.current_start())))
    return reports, unstarted


def _end_of_current(
    slot: Slot, job: Claimed, status: int, *, out_of_memory: bool, retries: int
) -> Finished | None:
    because = slot.killed_because
    if because is not None and slot.killed_job not in {None, job}:
        because = BYSTANDER
    pause = pause_s(job.backoff, job.attempt)
    if because is None:
        error = crash_info(status, out_of_memory=out_of_memory)
        return Finished(job.id, job.attempt, error=error, retry=True, delay_s=pause, crashed=True)
    if because is LEASE_LOST:
        return None
    if because in {STOPPED, BYSTANDER}:
        return Finished(job.id, job.attempt, error=because, retry=True)
    return Finished(job.id, job.attempt, error=because, retry=retries_left(job, retries), delay_s=pause)
