"""The thread that keeps the leases of a worker whose bodies run in the same process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from dreamlake.lakeshore.dispatch.plane import Claimed
from dreamlake.lakeshore.errors import PlaneLostError
from dreamlake.lakeshore.worker.leases import HEARTBEAT_S, Leases, WorkerState
from dreamlake.lakeshore.worker.prefetch import HOLD_S

_LOOK_S = 0.5
"""Seconds between two looks at whether the worker drains: a signal handler must not touch a thread's lock."""


class LeaseKeeper:
    """Renews what is held, hands back what does not get its turn, and drops what was lost.

    It needs the GIL now and then. A body that never gives it back for longer than the lease loses its
    invocation to another worker: such bodies belong in slots with processes of their own.
    """

    def __init__(
        self, leases: Leases, renew_every_s: float, *, draining: Callable[[], bool] = lambda: False
    ) -> None:
        """``draining`` is asked now and then, for the worker's record."""
        self._lock = threading.Lock()
        self._leases = leases
        self._renew_every_s = renew_every_s
        self._waiting: deque[Claimed] = deque()
        self._unreported: dict[str, Claimed] = {}
        self._started: float | None = None
        self._lost: set[str] = set()
        self._draining = draining
        self._wake = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._keep, name="lakeshore-leases", daemon=True)

    @property
    def waiting(self) -> list[Claimed]:
        """Give the claims that have not begun."""
        return list(self._waiting)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def begin_next(self) -> Claimed | None:
        """Take the next claim to run, or None when nothing waits."""
        with self._lock:
            if not self._waiting:
                return None
            job = self._waiting.popleft()
            self._unreported[job.id] = job
            self._lost.discard(job.id)
            self._started = time.monotonic()
        return job

    def lose(self, ids: Iterable[str]) -> None:
        """Note that these are this worker's no more: cancelled, or their lease ran out."""
        self._lost.update(ids)

    def has_lost(self, inv_id: str) -> bool:
        """Say whether what runs is known to be lost."""
        return inv_id in self._lost

    def end(self) -> None:
        """Note that the body has ended (its report may still be on the way)."""
        self._started = None

    def reported(self, ids: Iterable[str]) -> None:
        """Note that the plane knows the end of these."""
        with self._lock:
            for inv_id in ids:
                self._unreported.pop(inv_id, None)

    def stop(self) -> None:
        """End the thread."""
        self._over = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def claimed(self, jobs: Iterable[Claimed]) -> None:
        """Add fresh claims, to be run in this order."""
        with self._lock:
            self._waiting.extend(jobs)
            several = len(self._waiting) > 1
        if several:
            self._wake.set()  # from now on the claims behind the first are watched

    def _keep(self) -> None:
        with contextlib.suppress(PlaneLostError):  # the worker meets it too
            self._look_after()

    def _look_after(self) -> None:
        renewed = time.monotonic()
        state: WorkerState = "active"
        recorded = renewed
        while not self._over:
            self._wake.wait(HOLD_S if self._waiting else min(self._renew_every_s / 2, _LOOK_S))
            self._wake.clear()
            now = time.monotonic()
            started = self._started
            if started is not None and now - started > HOLD_S:
                self._hand_back()
            if now - renewed >= self._renew_every_s * 0.9:
                renewed = now
                self._renew()
            if now - recorded >= HEARTBEAT_S or (state == "active" and self._draining()):
                recorded = now
                state = "draining" if self._draining() else "active"
                self._leases.register(state)

    def _hand_back(self) -> None:
        with self._lock:
            jobs = list(self._waiting)
            self._waiting.clear()
        self._leases.release(jobs)

    def _renew(self) -> None:
        with self._lock:
            jobs = [*self._waiting, *self._unreported.values()]
        lost = self._leases.renew(jobs)
        if not lost:
            return
        self.lose(lost)
        with self._lock:
            kept = [job for job in self._waiting if job.id not in lost]
            self._waiting.clear()
            self._waiting.extend(kept)
