"""Bring reports to the plane: frames before the end of their invocation, ends in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from dreamlake.lakeshore.dispatch.plane import Frame, Plane
from dreamlake.lakeshore.errors import FencedError
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, LogReport, Report


def log_journal(inv_id: str) -> str:
    """Name the journal that keeps what an invocation printed."""
    return f"log:{inv_id}"


def deliver(plane: Plane, worker_id: str, reports: Sequence[Report]) -> set[str]:
    """Write reports to the plane and give the ids that this worker holds no more (nothing was changed there).

    Raises ``DispatchError`` when the plane cannot take them now. Frames and ends are idempotent, so the same
    reports may then be delivered again (a line of output may come twice).
    """
    lost: set[str] = set()
    for inv_id, frames in _frames(reports):
        try:
            plane.journal_append_many(inv_id, frames, worker_id=worker_id)
        except FencedError:
            lost.add(inv_id)
    for report in reports:
        if isinstance(report, LogReport):
            plane.journal_append(log_journal(report.id), None, report.text.encode())
    ends = [report.finished for report in reports if isinstance(report, DoneReport)]
    if ends:
        lost |= plane.ack_many(worker_id, ends)
    return lost


def _frames(reports: Iterable[Report]) -> Iterable[tuple[str, list[Frame]]]:
    written = [report for report in reports if isinstance(report, FrameReport)]
    for inv_id, group in groupby(written, key=lambda report: report.id):
        yield inv_id, [report.frame for report in group]
