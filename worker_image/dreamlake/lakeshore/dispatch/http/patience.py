"""How long to go on trying, and how long to pause in between."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

_BASE_S = 0.05
_CAP_S = 5.0


class Patience:
    """Pauses that grow, with full jitter, until ``limit_s`` seconds are over."""

    def __init__(self, limit_s: float) -> None:
        self._ends = time.monotonic() + limit_s
        self._tries = 0

    def pause_s(self, at_least: float = 0.0) -> float | None:
        """Choose the next pause, of ``at_least`` so many seconds; None when that would be beyond the limit."""
        longest = min(_CAP_S, _BASE_S * 2 ** min(self._tries, 20))
        self._tries += 1
        pause = at_least + random.uniform(0.0, longest)  # noqa: S311 - so that clients do not move in step
        return pause if time.monotonic() + pause < self._ends else None

    def pause(self, closed: threading.Event, at_least: float = 0.0) -> bool:
        """Pause, unless ``closed`` comes first; False when the limit leaves no time for it."""
        seconds = self.pause_s(at_least)
        if seconds is None:
            return False
        closed.wait(seconds)
        return True
