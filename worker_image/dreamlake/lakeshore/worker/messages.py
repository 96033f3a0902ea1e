"""What a slot's parent and child say to each other, as the lists that travel over their ``Channel``.

Parent to child: ``["hello", settings]``, ``["mount", [folder, ...]]`` (to import from, before the first job),
``["run", [job, ...]]``, ``["stop"]``.
Child to parent: ``["ready"]``, ``["failed", message]`` (it cannot start), ``["reports", [report, ...]]``,
``["skipped", [ordinal, ...]]`` (taken back in time, not started).
"""

from __future__ import annotations

from typing import Any

from dreamlake.lakeshore.dispatch.plane import Backoff, Claimed, Finished, Frame
from dreamlake.lakeshore.errors import ErrorInfo
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, LogReport, Report


def job_to_list(ordinal: int, job: Claimed) -> list[Any]:
    """Encode a claim under its ordinal."""
    backoff = None if job.backoff is None else [job.backoff.base_s, job.backoff.cap_s]
    fence = [ordinal, job.id, job.envelope, job.attempt, job.queue]
    return [*fence, job.timeout_s, job.retries, backoff, job.crashes]


def job_from_list(raw: list[Any]) -> tuple[int, Claimed]:
    """Decode what ``job_to_list`` made."""
    ordinal, inv_id, envelope, attempt, queue, timeout_s, retries, backoff, crashes = raw
    spread = None if backoff is None else Backoff(*backoff)
    return ordinal, Claimed(inv_id, envelope, attempt, queue, timeout_s, retries, spread, crashes)


def report_to_list(report: Report) -> list[Any]:
    """Encode a report; the first element tells its kind."""
    if isinstance(report, DoneReport):
        end = report.finished
        error = None if end.error is None else end.error.to_dict()
        return ["done", end.id, end.attempt, end.result, error, end.retry, end.delay_s, report.duration_s]
    if isinstance(report, FrameReport):
        return ["frame", report.id, report.frame.seq, report.frame.data, report.frame.final]
    return ["log", report.id, report.attempt, report.seq, report.text]


def report_from_list(raw: list[Any]) -> Report:
    """Decode what ``report_to_list`` made."""
    if raw[0] == "done":
        _, inv_id, attempt, result, error, retry, delay_s, duration_s = raw
        info = None if error is None else ErrorInfo.from_dict(error)
        return DoneReport(Finished(inv_id, attempt, result, info, retry, delay_s), duration_s)
    if raw[0] == "frame":
        return FrameReport(raw[1], Frame(raw[2], raw[3], raw[4]))
    return LogReport(raw[1], raw[2], raw[3], raw[4])
