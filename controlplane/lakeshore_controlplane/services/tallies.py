"""What one replica counts for its metrics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tallies:
    """Counters since the replica began; the metrics page reads them as they are."""

    claimed: int = 0
    finished: int = 0
    """Reports that were taken, whatever they said."""
    fenced_acks: int = 0
    """Reports of attempts that were no longer held."""
    lease_expiries: int = 0
    """Leases that ran out, and whose rows this replica queued again or ended."""
    deadline_ends: int = 0
    lane_repairs: int = 0
    """Rows put back where a lane had lost them."""
    refills: int = 0
    """Lanes filled from the rows."""
