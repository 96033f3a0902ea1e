"""Reports that the plane has not taken yet."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

from dreamlake.lakeshore.worker.leases import Leases
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, LogReport, Report

_PLANE_RETRY_S = 1.0
_MOST = 20_000
_MOST_BYTES = 32 << 20
_RIDERS = 1000
_RIDERS_BYTES = 1 << 20


class Backlog:
    """Keeps reports in order until the plane takes them.

    While it is ``full``, the worker reads no more of them: a body that streams is then slowed down by its full
    channel instead of filling the parent's memory.
    """

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._reports: list[Report] = []
        self._bytes = 0
        self._again_at = -math.inf

    def __bool__(self) -> bool:
        return bool(self._reports)

    @property
    def full(self) -> bool:
        """Whether nothing should be added."""
        return len(self._reports) >= _MOST or self._bytes >= _MOST_BYTES

    def add(self, reports: Iterable[Report]) -> None:
        """Add reports behind the others."""
        for report in reports:
            self._reports.append(report)
            self._bytes += _size(report)

    def next_in(self, now: float) -> float:
        """Seconds until ``deliver`` should be called again; infinity when nothing waits."""
        return max(0.0, self._again_at - now) if self._reports else math.inf

    @property
    def rides(self) -> bool:
        """Whether all of it are few and small ends of bodies, which may ride on a question."""
        return (
            self._bytes <= _RIDERS_BYTES
            and len(self._reports) <= _RIDERS
            and all(isinstance(report, DoneReport) for report in self._reports)
        )

    def take_riders(self) -> list[DoneReport]:
        """Take all reports out if they ride; none otherwise."""
        if not self.rides:
            return []
        ends = [report for report in self._reports if isinstance(report, DoneReport)]
        self._reports, self._bytes = [], 0
        return ends

    def put_back(self, reports: Sequence[Report], *, refused: bool) -> None:
        """Put reports back before the others; when they were ``refused``, leave the plane alone for a second."""
        self._reports[:0] = reports
        self._bytes += sum(map(_size, reports))
        if refused:
            self._again_at = time.monotonic() + _PLANE_RETRY_S

    def deliver(self, *, at_once: bool = False) -> set[str]:
        """Bring them to the plane; the ids among them that are lost and still run.

        After a refusal nothing is tried for a second, unless ``at_once``.
        """
        if not self._reports or (time.monotonic() < self._again_at and not at_once):
            return set()
        lost = self._leases.report(self._reports)
        if lost is None:
            self._again_at = time.monotonic() + _PLANE_RETRY_S
            return set()
        ended = {report.finished.id for report in self._reports if isinstance(report, DoneReport)}
        self._reports, self._bytes = [], 0
        return lost - ended


def _size(report: Report) -> int:
    if isinstance(report, FrameReport):
        return len(report.frame.data)
    if isinstance(report, LogReport):
        return len(report.text)
    return len(report.finished.result or b"")
