"""What a body prints: shown on the worker's own output, and kept line by line for ``lakeshore jobs logs``."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from typing import TextIO

from dreamlake.lakeshore.worker.execution import Executor
from dreamlake.lakeshore.worker.outbox import LogReport

MOST_KEPT = 1 << 20
"""Characters kept of one attempt's output; more is shown, not kept."""
_BATCH = 8192


class JobOutput(io.TextIOBase):
    """A text stream that passes everything on and reports what a job wrote.

    It sees what Python writes to ``sys.stdout`` and ``sys.stderr``. What a C library or another program writes
    to the descriptors goes to the worker's output only.
    """

    def __init__(self, executor: Executor, shown: TextIO) -> None:
        self._executor = executor
        self._shown = shown
        self._job: tuple[str, int] | None = None
        self._seq = 0
        self._kept = 0
        self._line = ""
        self._lock = threading.RLock()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The shown stream's encoding."""
        return self._shown.encoding

    def writable(self) -> bool:
        """Say that text may be written."""
        return True

    def isatty(self) -> bool:
        """Say what the shown stream is: progress bars look at it."""
        return self._shown.isatty()

    def fileno(self) -> int:
        """Give the shown stream's descriptor, for child processes of the body."""
        return self._shown.fileno()

    def write(self, text: str) -> int:
        """Show ``text`` and keep it with the running job."""
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more, or its disk is full
            self._shown.write(text)
        with self._lock:  # a body's threads print too
            job = self._executor.current
            if job != self._job:
                self._job, self._seq, self._kept, self._line = job, 0, 0, ""
            if job is not None:
                self._line += text
                if "\n" in text or len(self._line) >= _BATCH:
                    self._report()
        return len(text)

    def flush(self) -> None:
        """Flush the shown stream and report an unfinished line."""
        with contextlib.suppress(OSError, ValueError):
            self._shown.flush()
        with self._lock:
            if self._job is not None and self._job == self._executor.current:
                self._report()

    def _report(self) -> None:
        if self._job is None or not self._line or self._kept >= MOST_KEPT:
            self._line = ""
            return
        text, self._line = self._line, ""
        self._kept += len(text)
        if self._kept >= MOST_KEPT:
            text += f"\n[output beyond {MOST_KEPT} characters is not kept]\n"
        inv_id, attempt = self._job
        self._executor.report(LogReport(inv_id, attempt, self._seq, text), len(text))
        self._seq += 1


def capture_output(executor: Executor) -> None:
    """Put ``JobOutput`` in the place of this process's standard streams."""
    sys.stdout = JobOutput(executor, sys.stdout)
    sys.stderr = JobOutput(executor, sys.stderr)
    executor.flush_output = _flush_streams


def _flush_streams() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
