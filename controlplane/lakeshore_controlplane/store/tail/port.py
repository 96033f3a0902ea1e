"""What a tail does, whatever holds it: the newest frames of journals, written after their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Tail(Protocol):
    """Bounded by length and age for every journal; may forget anything at any time."""

    async def append(self, journal: str, frames: Sequence[tuple[int, bytes]]) -> None:
        """Add ``(seq, bytes)`` in order; never raises. What is not newer than the last one is left out.

        A gap stays a gap: ``read`` does not go over it, and goes on behind it.
        """

    async def read(self, journal: str, since: int, limit_bytes: int) -> list[tuple[int, bytes]]:
        """Frames from ``since + 1`` on without a gap, up to about ``limit_bytes``; empty when it lacks that one."""

    async def drop(self, journal: str) -> None:
        """Forget a journal."""

    async def close(self) -> None:
        """Release connections."""
