"""Time limits of bodies that run inside the worker's own process."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from dreamlake.lakeshore.errors import LakeshoreError


class JobTimeoutError(LakeshoreError):
    """A body ran longer than its ``timeout_s``."""


@contextlib.contextmanager
def time_limit(limit_s: float | None) -> Iterator[None]:
    """Raise ``JobTimeoutError`` inside the block after ``limit_s`` seconds.

    Only the main thread can be interrupted (by SIGALRM), and only between Python instructions: a body that
    keeps the GIL ends when it gives it back. Slots with processes of their own have no such limits.
    """
    if limit_s is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    text = f"ran longer than its limit of {limit_s:g} s"

    def on_alarm(_number: int, _frame: FrameType | None) -> None:
        raise JobTimeoutError(text)

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
