"""The worker's dealings with the plane: claims, renewals, hand-backs, reports and its own record.

A plane that does not answer now (a full disk, a locked file) is no reason to lose anything: each call says so in
the log, and the caller tries again later. Only ``PlaneLostError`` is raised: that worker is at its end.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

from dreamlake.lakeshore.dispatch.plane import Claimed, Finished, Plane, WorkerRecord
from dreamlake.lakeshore.errors import DispatchError, PlaneLostError
from dreamlake.lakeshore.worker.counters import Counters
from dreamlake.lakeshore.worker.deliver import deliver
from dreamlake.lakeshore.worker.identity import new_worker_id
from dreamlake.lakeshore.worker.options import WorkerOptions
from dreamlake.lakeshore.worker.outbox import DoneReport, Report

WorkerState: TypeAlias = Literal["starting", "active", "draining"]
HEARTBEAT_S = 10.0
"""Seconds between two writings of a worker's record."""

log = logging.getLogger("lakeshore.worker")


class Polls(Protocol):
    """A plane's way to ask for claims ahead: see ``dreamlake.lakeshore.dispatch.http.polls.HttpPolls``."""

    def ask(
        self,
        queue: str,
        n: int,
        reports: Sequence[Finished],
        *,
        kind: str,
        temperature: float,
        lease_s: float,
    ) -> None:
        """Send reports and ask. Raises ``DispatchError``."""

    def fileno(self) -> int:
        """Give what becomes readable with the answer."""

    def answer(self) -> tuple[list[Claimed], set[str]]:
        """Take the answer: claims, and the ids of reports that were fenced. Raises ``DispatchError``."""

    def hang_up(self) -> None:
        """Take the question back."""


class Leases:
    """One worker's claims on one queue. ``kind`` and ``temperature`` are the queue's claim order."""

    def __init__(
        self,
        plane: Plane,
        queue: str,
        options: WorkerOptions,
        counters: Counters,
        *,
        kind: str = "fifo",
        temperature: float = 1.0,
    ) -> None:
        self.worker_id = new_worker_id()
        self._plane = plane
        self._queue = queue
        self._options = options
        self._counters = counters
        self._kind = kind
        self._temperature = temperature
        self._started_at = plane.now()
        self._drain_ordered: Callable[[str], bool] | None = getattr(plane, "drain_ordered", None)

    @property
    def drain_ordered(self) -> bool:
        """Whether the plane has told this worker to drain; a local plane never does."""
        return self._drain_ordered is not None and self._drain_ordered(self.worker_id)

    def claim(self, wanted: int) -> list[Claimed] | None:
        """Claim up to ``wanted``; None when the plane does not answer now."""
        try:
            jobs = self._plane.claim_many(
                self._queue,
                self.worker_id,
                wanted,
                kind=self._kind,
                temperature=self._temperature,
                lease_s=self._options.lease_s,
            )
        except PlaneLostError:
            raise
        except DispatchError as exc:
            log.warning("could not claim, trying again: %s", exc)
            return None
        self._counters.last_poll = time.monotonic()
        self._counters.claimed += len(jobs)
        return jobs

    def open_polls(self) -> Polls | None:
        """Open the plane's way to ask for claims ahead; None where it has none."""
        opened: Callable[[str], Polls] | None = getattr(self._plane, "polls", None)
        return None if opened is None else opened(self.worker_id)

    def ask(self, polls: Polls, wanted: int, ends: Sequence[DoneReport]) -> bool:
        """Send ends and ask for up to ``wanted`` claims; False when the plane cannot be reached now."""
        try:
            polls.ask(
                self._queue,
                wanted,
                [end.finished for end in ends],
                kind=self._kind,
                temperature=self._temperature,
                lease_s=self._options.lease_s,
            )
        except PlaneLostError:
            raise
        except DispatchError as exc:
            log.warning("could not claim, trying again: %s", exc)
            return False
        for end in ends:
            self._count(end, fenced=False)
        return True

    def asked(self, polls: Polls, ends: Sequence[DoneReport]) -> list[Claimed] | None:
        """Take the answer to ``ask``; None when there is none: then its ends are not counted any more."""
        try:
            jobs, fenced = polls.answer()
        except PlaneLostError:
            raise
        except DispatchError as exc:
            log.warning("could not claim, trying again: %s", exc)
            self.forget(ends)
            return None
        for end in ends if fenced else ():
            if end.finished.id in fenced:
                self._count(end, fenced=False, by=-1)
                self._count(end, fenced=True)
        self._counters.last_poll = time.monotonic()
        self._counters.claimed += len(jobs)
        return jobs

    def forget(self, ends: Sequence[DoneReport]) -> None:
        """Count ends no more, which are to be sent again."""
        for end in ends:
            self._count(end, fenced=False, by=-1)

    def next_due(self) -> float | None:
        """Seconds until a delayed job or an expiring lease wants attention, or None."""
        try:
            return self._plane.next_due(self._queue)
        except PlaneLostError:
            raise
        except DispatchError as exc:
            log.warning("could not look ahead, trying again: %s", exc)
            return None

    def release(self, jobs: Iterable[Claimed]) -> None:
        """Hand back claims that were not started."""
        ids = [job.id for job in jobs]
        if not ids:
            return
        self._counters.released += len(ids)
        try:
            self._plane.release(ids, self.worker_id)
        except DispatchError as exc:
            log.warning("could not hand back %d jobs, their leases will run out: %s", len(ids), exc)

    def renew(self, jobs: Iterable[Claimed]) -> set[str] | None:
        """Renew; the ids that are this worker's no more, or None when the plane does not answer now."""
        ids = [job.id for job in jobs]
        if not ids:
            return set()
        try:
            lost = self._plane.renew(ids, self.worker_id, lease_s=self._options.lease_s)
        except PlaneLostError:
            raise
        except DispatchError as exc:
            log.warning("could not renew %d leases, trying again: %s", len(ids), exc)
            return None
        self._counters.last_poll = time.monotonic()
        return lost

    def report(self, reports: Sequence[Report]) -> set[str] | None:
        """Deliver reports; the ids that are this worker's no more, or None when the plane does not take them now."""
        try:
            lost = deliver(self._plane, self.worker_id, reports)
        except PlaneLostError:
            raise
        except DispatchError as exc:
            log.warning("could not report, trying again: %s", exc)
            return None
        for report in reports:
            if isinstance(report, DoneReport):
                self._count(report, fenced=report.finished.id in lost)
        return lost

    def _count(self, report: DoneReport, *, fenced: bool, by: int = 1) -> None:
        counters = self._counters
        counters.busy_s += by * report.duration_s
        if fenced:
            counters.fenced += by
        elif report.finished.crashed:
            counters.crashed += by
        elif report.finished.error is None:
            counters.succeeded += by
        else:
            counters.failed += by

    def register(self, state: WorkerState) -> None:
        """Write the worker's record; also its heartbeat."""
        try:
            record = WorkerRecord(
                id=self.worker_id,
                queue=self._queue,
                host=socket.gethostname(),
                pid=os.getpid(),
                state=state,
                concurrency=self._options.concurrency,
                started_at=self._started_at,
                last_seen_at=self._plane.now(),
                tags=self._options.tags,
            )
            self._plane.register_worker(record)
        except PlaneLostError:
            raise
        except DispatchError as exc:
            log.warning("could not write the worker's record, trying again: %s", exc)
            return
        self._counters.last_poll = time.monotonic()  # a long lease is renewed more rarely than probes look

    def sign_off(self) -> None:
        """Remove the worker's record."""
        try:
            self._plane.remove_worker(self.worker_id)
        except DispatchError as exc:
            log.warning("could not remove the worker's record, it will go stale: %s", exc)
