"""Time for leases, delays and deadlines: agreed between replicas, and deaf to steps of this machine's wall clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings, in seconds."""

    def steady(self) -> float:
        """Plane time: Unix-like, only grows, the same on every replica within a round trip to the database."""

    def wall(self) -> float:
        """Unix time as this machine's wall clock has it; only for comparing with what users wrote."""


class PlaneClock:
    """The database's time at start-up, carried on by this machine's steady clock."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def set_by(self, database_time: float, asked_at: float, answered_at: float) -> None:
        """Take over the database's time, read between two readings of ``time.monotonic``."""
        self._offset = database_time - (asked_at + answered_at) / 2

    def steady(self) -> float:
        """Plane time."""
        return time.monotonic() + self._offset

    def wall(self) -> float:
        """Plane time again: a replica whose own wall clock is an hour off must not end work early."""
        return self.steady()
