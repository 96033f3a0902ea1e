"""What a worker counts about itself, for its health page and its closing line."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Totals since the worker started. ``last_poll`` is on the monotonic clock, in seconds."""

    succeeded: int = 0
    failed: int = 0
    crashed: int = 0
    fenced: int = 0
    claimed: int = 0
    released: int = 0
    running: int = 0
    busy_s: float = 0.0
    draining: bool = False
    ready: bool = False
    last_poll: float = field(default_factory=time.monotonic)

    @property
    def executed(self) -> int:
        """Bodies that ended, in whatever way."""
        return self.succeeded + self.failed + self.crashed

    def totals(self) -> dict[str, int | float]:
        """Give what was counted, for the closing line."""
        names = ("succeeded", "failed", "crashed", "fenced", "claimed", "released", "busy_s")
        return {"executed": self.executed, **{name: getattr(self, name) for name in names}}

    def poll_age_s(self) -> float:
        """Seconds since the plane last answered."""
        return time.monotonic() - self.last_poll
