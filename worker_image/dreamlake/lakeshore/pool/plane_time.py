"""Plane time for a pool: it must be told without a request, since a pool ends also while its plane is away."""

from __future__ import annotations

import time

from dreamlake.lakeshore.dispatch.plane import Plane

_STEPPED_S = 5.0
"""Seconds behind what was reckoned from which on the plane's clock is believed to have been set back."""


class PlaneTime:
    """Seconds on the plane's clock, never later than the plane itself would say.

    A local plane is asked. A control plane's time is reckoned from what its answers said: that was true before they
    arrived here, so the latest of them is the best.
    """

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._ahead: float | None = None  # of this machine's monotonic clock

    def __call__(self) -> float:
        """Give the time. Raises ``DispatchError`` when a control plane has not told any yet and does not answer."""
        if self._plane.local:
            return self._plane.now()
        if self._ahead is None:
            self.heard(self._plane.now())
        assert self._ahead is not None
        return time.monotonic() + self._ahead

    def heard(self, told: float) -> None:
        """Take in a time that an answer of the plane held, right after it came."""
        ahead = told - time.monotonic()
        if self._ahead is None or ahead > self._ahead or ahead < self._ahead - _STEPPED_S:
            self._ahead = ahead
