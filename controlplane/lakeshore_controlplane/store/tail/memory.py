"""A tail in the memory of one process."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence

JOURNAL_FRAMES = 1_000
JOURNAL_BYTES = 4 * 1024 * 1024
TOTAL_BYTES = 64 * 1024 * 1024
_FRAME_COST = 150
"""What a frame takes beside its bytes, about."""

Frame = tuple[int, bytes]
"""(seq, bytes)."""


class _Frames:
    """The newest frames of one journal."""

    __slots__ = ("cost", "frames")

    def __init__(self) -> None:
        self.frames: deque[Frame] = deque()
        self.cost = 0

    def add(self, frame: Frame) -> None:
        if self.frames and frame[0] <= self.frames[-1][0]:
            return
        self.frames.append(frame)
        self.cost += len(frame[1]) + _FRAME_COST
        while self.frames and (len(self.frames) > JOURNAL_FRAMES or self.cost > JOURNAL_BYTES):
            self.cost -= len(self.frames.popleft()[1]) + _FRAME_COST

    def after(self, since: int, limit_bytes: int) -> list[Frame]:
        found: list[Frame] = []
        size = 0
        for frame in self._from(since + 1):
            if frame[0] != since + 1 + len(found) or size >= limit_bytes:
                break
            found.append(frame)
            size += len(frame[1])
        return found

    def _from(self, seq: int) -> list[Frame]:
        newer: list[Frame] = []
        for frame in reversed(self.frames):  # a reader is near the end, as a rule
            if frame[0] < seq:
                break
            newer.append(frame)
        return newer[::-1]


class MemoryTail:
    """A ``Tail`` for one replica: bounded for each journal, and in the whole by forgetting what is not used."""

    def __init__(self, *, total_bytes: int = TOTAL_BYTES) -> None:
        """Keep about ``total_bytes`` in the whole."""
        self._total = total_bytes
        self._used = 0
        self._journals: OrderedDict[str, _Frames] = OrderedDict()

    async def append(self, journal: str, frames: Sequence[tuple[int, bytes]]) -> None:
        """Add frames. See ``Tail.append``."""
        kept = self._journals.setdefault(journal, _Frames())
        self._journals.move_to_end(journal)
        self._used -= kept.cost
        for frame in frames:
            kept.add(frame)
        self._used += kept.cost
        while self._used > self._total:
            self._used -= self._journals.popitem(last=False)[1].cost
        if not kept.frames:
            self._journals.pop(journal, None)

    async def read(self, journal: str, since: int, limit_bytes: int) -> list[tuple[int, bytes]]:
        """Frames without a gap. See ``Tail.read``."""
        kept = self._journals.get(journal)
        if kept is None:
            return []
        self._journals.move_to_end(journal)
        return kept.after(since, limit_bytes)

    async def drop(self, journal: str) -> None:
        """Forget a journal. See ``Tail.drop``."""
        kept = self._journals.pop(journal, None)
        if kept is not None:
            self._used -= kept.cost

    async def close(self) -> None:
        """Nothing to release."""
