"""Named points in time of a loop that sleeps until the next of them."""

from __future__ import annotations

import math


class Timers:
    """One deadline per name, on whatever clock the caller passes (seconds)."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}

    def set(self, name: str, at: float) -> None:
        """Set or move a timer."""
        self._at[name] = at

    def set_earlier(self, name: str, at: float) -> None:
        """Set a timer unless it is already due sooner."""
        self._at[name] = min(at, self._at.get(name, math.inf))

    def due(self, now: float) -> list[str]:
        """Take the timers whose time has come, earliest first."""
        names = sorted((name for name, at in self._at.items() if at <= now), key=self._at.__getitem__)
        for name in names:
            del self._at[name]
        return names

    def next_in(self, now: float) -> float:
        """Seconds until the next timer; infinity without one."""
        return max(0.0, min(self._at.values(), default=math.inf) - now)
