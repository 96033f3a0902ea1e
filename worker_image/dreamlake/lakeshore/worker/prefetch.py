"""How many claims a slot may hold: as many as will start soon, whatever their number."""

from __future__ import annotations

HOLD_S = 0.1
"""Seconds within which a claim that is held should start."""
MOST = 1000
"""Claims that one slot holds at most, so that a crash re-queues a bounded number."""
_WEIGHT = 0.2


class Prefetch:
    """The window of one slot, learned from the durations of the bodies it ran."""

    __slots__ = ("_mean_s", "_window")

    def __init__(self) -> None:
        self._mean_s: float | None = None
        self._window = 1

    @property
    def window(self) -> int:
        """Claims that may be held at once, the running one included."""
        return self._window

    def observe(self, total_s: float, bodies: int) -> None:
        """Learn from ``bodies`` bodies that took ``total_s`` seconds together.

        The window at most doubles at a time: one lucky short body must not take a whole queue hostage.
        """
        if bodies <= 0:
            return
        each = max(total_s / bodies, 1e-7)
        if self._mean_s is None or each > self._mean_s:
            # A longer body than expected is believed at once: holding back work costs more than a round trip.
            self._mean_s = each
        else:
            self._mean_s += _WEIGHT * (each - self._mean_s)
        self._window = max(1, min(int(HOLD_S / self._mean_s), self._window * 2, MOST))
