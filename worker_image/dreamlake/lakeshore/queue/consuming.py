"""The consumer's side of a queue: taking jobs by hand, without a worker."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import DEFAULT_LEASE_S
from dreamlake.lakeshore.errors import FencedError
from dreamlake.lakeshore.queue.base import BaseQueue, check_timeout
from dreamlake.lakeshore.queue.job import Job, LeaseKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dreamlake.lakeshore.dispatch.plane import Claimed, Plane
    from dreamlake.lakeshore.errors import ErrorInfo

_RETRIES = 1
_LONGEST_WAIT_S = 5.0


class Consumer(BaseQueue):
    """``claim``, ``ack``, ``nack`` and ``working`` of a queue."""

    def claim(self, *, timeout: float = 0.0, lease_s: float = DEFAULT_LEASE_S) -> Job | None:
        """Lease the next job in this queue's order, waiting up to ``timeout`` seconds for one; or None.

        The lease ends after ``lease_s`` seconds and the job is queued again, unless it has been acked;
        ``working`` renews it.
        """
        check_timeout(timeout)
        plane = self.dispatch
        claimed = self._claim_now(plane, lease_s)
        if claimed is None and timeout > 0:
            claimed = self._claim_within(plane, timeout, lease_s)
        return None if claimed is None else Job(claimed)

    def ack(self, job: Job, result: object = None) -> None:
        """End the job as succeeded with ``result``. Raises ``FencedError`` when its lease is no longer held."""
        self.dispatch.ack(job.id, self.worker_id, result=wire.pack(result), attempt=job.attempt)
        job.settled = True

    def nack(
        self,
        job: Job,
        error: ErrorInfo | BaseException | str = "refused by its consumer",
        *,
        retry: bool = True,
        delay_s: float = 0.0,
    ) -> None:
        """Report that the attempt failed: queued again after ``delay_s`` seconds, or failed without ``retry``."""
        told = error_told(error)
        self.dispatch.nack(
            job.id, self.worker_id, error=told, retry=retry, attempt=job.attempt, delay_s=delay_s
        )
        job.settled = True

    @contextmanager
    def working(
        self, job: Job | None = None, *, timeout: float = 0.0, lease_s: float = DEFAULT_LEASE_S
    ) -> Iterator[Job | None]:
        """Work on a job (by default the next one, or None): acked at the end of the block, nacked when it raises.

        The lease is renewed meanwhile. A job that failed is tried again as often as its submitter said (else
        once); the exception is raised on. To give a result, ``ack(job, result)`` inside the block.

        >>> with q.working(timeout=60) as job:
        ...     if job is not None:
        ...         handle(job.payload)
        """
        job = self.claim(timeout=timeout, lease_s=lease_s) if job is None else job
        if job is None:
            yield None
            return
        try:
            with LeaseKeeper(self.dispatch, job, self.worker_id, lease_s):
                yield job
        except BaseException as exc:
            if not job.settled:
                self._nack_failed(job, exc)
            raise
        if not job.settled:
            self.ack(job)

    def _nack_failed(self, job: Job, exc: BaseException) -> None:
        retry, pause = after_failure(job, exc)
        try:
            self.nack(job, exc, retry=retry, delay_s=pause)
        except FencedError:
            note_lost_lease(job, exc)

    def _claim_now(self, plane: Plane, lease_s: float) -> Claimed | None:
        return plane.claim(
            self.name, self.worker_id, kind=self.kind, temperature=self.temperature, lease_s=lease_s
        )

    def _claim_within(self, plane: Plane, timeout: float, lease_s: float) -> Claimed | None:
        ends = time.monotonic() + timeout
        listener = plane.listen(f"work:{self.name}")
        try:
            while True:
                # Claim after subscribing, so that what comes in between is not missed.
                claimed = self._claim_now(plane, lease_s)
                left = ends - time.monotonic()
                if claimed is not None or left <= 0:
                    return claimed
                due = plane.next_due(self.name)
                listener.wait(max(0.001, min(left, _LONGEST_WAIT_S if due is None else due)))
        finally:
            listener.close()


def error_told(error: ErrorInfo | BaseException | str) -> ErrorInfo | str:
    """Give an error in a form that travels."""
    if not isinstance(error, BaseException):
        return error
    from dreamlake.lakeshore.attempt.failure import error_info  # noqa: PLC0415

    return error_info(error)


def after_failure(job: Job, exc: BaseException) -> tuple[bool, float]:
    """Whether a job whose block raised is to be tried again, and after how many seconds."""
    from dreamlake.lakeshore.attempt.retrying import pause_s, retries_left  # noqa: PLC0415

    interrupted = not isinstance(exc, Exception)  # Ctrl-C says nothing about the job
    pause = 0.0 if job.claimed.backoff is None else pause_s(job.claimed.backoff, job.attempt)
    return interrupted or retries_left(job.claimed, _RETRIES), pause


def note_lost_lease(job: Job, exc: BaseException) -> None:
    """Say with a block's exception that its report came too late."""
    exc.add_note(f"The lease of {job.id} was lost meanwhile: another attempt has taken its place.")
