"""Bring reports to the plane: frames before the end of their invocation, ends in one transaction."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Sequence
from itertools import groupby

from dreamlake.lakeshore.dispatch.plane import Finished, Frame, Plane
from dreamlake.lakeshore.errors import ErrorInfo, FencedError, RefusedError, TooLargeError
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, LogReport, Report

log = logging.getLogger("lakeshore.worker")


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
            _append(plane, worker_id, inv_id, frames)
        except FencedError:
            lost.add(inv_id)
        except TooLargeError as exc:
            _fail(
                plane,
                worker_id,
                inv_id,
                ErrorInfo("WireError", f"a value that it yielded was refused: {exc}"),
            )
            lost.add(inv_id)
    for inv_id, text in _texts(reports):
        plane.journal_append(log_journal(inv_id), None, text.encode("utf-8", "replace"))
    ends = [report.finished for report in reports if isinstance(report, DoneReport)]
    if ends:
        lost |= _end(plane, worker_id, ends)
    return lost


def _end(plane: Plane, worker_id: str, ends: list[Finished]) -> set[str]:
    try:
        return plane.ack_many(worker_id, ends)
    except RefusedError:
        if all(end.result is None for end in ends):
            raise
    # The plane takes no result that large, now or later: that body has failed, and the others must not wait for it.
    lost: set[str] = set()
    for end in ends:
        try:
            lost |= plane.ack_many(worker_id, [end])
        except RefusedError as exc:
            if end.result is None:
                raise
            log.warning("invocation %s: its result was refused: %s", end.id, exc)
            refused = ErrorInfo("WireError", f"its result was refused: {exc}")
            lost |= plane.ack_many(worker_id, [end._replace(result=None, error=refused)])
    return lost


def _fail(plane: Plane, worker_id: str, inv_id: str, error: ErrorInfo) -> None:
    log.warning("invocation %s: %s", inv_id, error.message)
    with contextlib.suppress(FencedError):
        plane.nack(inv_id, worker_id, error=error, retry=False)


def _append(plane: Plane, worker_id: str, inv_id: str, frames: list[Frame]) -> None:
    try:
        plane.journal_append_many(inv_id, frames, worker_id=worker_id)
    except RefusedError:
        # A body that is repeated and yields more or less than before does not fit behind the end, or before
        # the frames, that its journal has. The journal keeps what it has; the outcome lies on the row.
        for frame in frames:
            try:
                plane.journal_append_many(inv_id, [frame], worker_id=worker_id)
            except TooLargeError:
                raise  # its reader would wait for it in vain
            except RefusedError as exc:
                log.warning("a frame was left out: %s", exc)


def _texts(reports: Iterable[Report]) -> Iterable[tuple[str, str]]:
    written = [report for report in reports if isinstance(report, LogReport)]
    for inv_id, group in groupby(written, key=lambda report: report.id):
        yield inv_id, "".join(report.text for report in group)


def _frames(reports: Iterable[Report]) -> Iterable[tuple[str, list[Frame]]]:
    written = [report for report in reports if isinstance(report, FrameReport)]
    for inv_id, group in groupby(written, key=lambda report: report.id):
        yield inv_id, [report.frame for report in group]
