"""The two-step stop of a worker: the first signal drains, the second stops."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


class StopSwitch:
    """Counts requests to stop and makes ``fileno`` readable at each, so that a ``select`` wakes."""

    def __init__(self) -> None:
        self.requests = 0
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    @property
    def draining(self) -> bool:
        """Whether to start no more bodies."""
        return self.requests >= 1

    @property
    def stopping(self) -> bool:
        """Whether to end the running bodies too."""
        return self.requests >= 2

    def request(self, at_least: int | None = None) -> None:
        """Go one step further, or to step ``at_least`` (1 drain, 2 stop)."""
        self.requests = self.requests + 1 if at_least is None else max(self.requests, at_least)
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"!")

    def fileno(self) -> int:
        """Give the descriptor that is readable after a request."""
        return self._read

    def clear(self) -> None:
        """Take the wake-ups that wait."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)

    def close(self) -> None:
        """Free the descriptors."""
        os.close(self._read)
        os.close(self._write)


@contextlib.contextmanager
def stop_on_signals(
    switch: StopSwitch, *, interrupt: bool = False, drain_timeout_s: float | None = None
) -> Iterator[None]:
    """Let SIGTERM and SIGINT act on ``switch``; a no-op outside the main thread, where Python forbids it.

    With ``interrupt`` the second one, or the first after ``drain_timeout_s`` seconds, raises
    ``KeyboardInterrupt`` in whatever runs: a body in this very process cannot be ended otherwise.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    timer = threading.Timer(drain_timeout_s or 0.0, signal.raise_signal, [signal.SIGTERM])
    timer.daemon = True

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        switch.request()
        if interrupt and switch.requests == 1 and drain_timeout_s is not None:
            timer.start()
        if interrupt and switch.requests == 2:
            raise KeyboardInterrupt

    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        before[number] = signal.signal(number, on_signal)
    try:
        yield
    finally:
        timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
