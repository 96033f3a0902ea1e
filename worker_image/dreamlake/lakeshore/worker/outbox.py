"""Reports on their way out of the place where bodies run: batched when many, prompt when few."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dreamlake.lakeshore.dispatch.plane import Finished, Frame

LINGER_S = 0.002
"""Seconds that a report may wait for others to share its trip."""
_MOST = 500
_MOST_BYTES = 1 << 20


class FrameReport(NamedTuple):
    """A journal frame of a running invocation."""

    id: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class LogReport:
    """Text that a running invocation printed; ``seq`` counts from 0 in each attempt's output."""

    id: str
    attempt: int
    seq: int
    text: str


class DoneReport(NamedTuple):
    """The end of one body and the seconds that it took."""

    finished: Finished
    duration_s: float


Report: TypeAlias = FrameReport | LogReport | DoneReport


class Outbox:
    """Hands reports to ``sink`` in order; again, with later ones, when it raised.

    A report that comes after a pause goes at once; those that come thick and fast go together, none of them
    waiting longer than ``LINGER_S`` for the sending thread (plus what the body keeps the GIL for).
    """

    def __init__(self, sink: Callable[[list[Report]], None]) -> None:
        self._sink = sink
        self._reports: list[Report] = []
        self._bytes = 0
        self._last = 0.0
        self._lock = threading.Lock()
        self._filled = threading.Event()
        self._closed = False
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    def add(self, report: Report, size: int = 0) -> None:
        """Queue a report of about ``size`` bytes; raises what the sink raised, here or in the sending thread."""
        with self._lock:
            self._reports.append(report)
            self._bytes += size
            now = time.monotonic()
            full = len(self._reports) >= _MOST or self._bytes >= _MOST_BYTES
            if full or now - self._last > LINGER_S:
                self._send(now)
            elif len(self._reports) == 1:
                self._arm()
        self._raise_failure()

    def flush(self) -> None:
        """Hand over everything now."""
        with self._lock:
            self._send(time.monotonic())
        self._raise_failure()

    def close(self) -> None:
        """Flush and end the sending thread."""
        try:
            self.flush()
        finally:
            self._closed = True
            self._filled.set()
            if self._thread is not None:
                self._thread.join(timeout=10)

    def _send(self, now: float) -> None:
        self._last = now
        if not self._reports:
            return
        self._sink(self._reports)
        self._reports, self._bytes = [], 0  # kept where the sink was interrupted: it is idempotent
        self._last = time.monotonic()

    def _arm(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._linger, name="lakeshore-outbox", daemon=True)
            self._thread.start()
        self._filled.set()

    def _linger(self) -> None:
        while not self._closed:
            self._filled.wait()
            self._filled.clear()
            time.sleep(LINGER_S)
            try:
                with self._lock:
                    self._send(time.monotonic())
            except BaseException as exc:
                self._failure = exc

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
