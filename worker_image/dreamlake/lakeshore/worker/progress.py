"""A few shared bytes by which a slot's parent sees what its child is doing, without asking it.

The child may hold the GIL for minutes, or be dead: it can answer nothing. So it writes down which job it
starts, and when, before it starts it; and it looks here for the jobs that have been taken back.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile

_ORDINAL = struct.Struct("<Q")  # of the job that runs (0: none), at 0
_START = struct.Struct("<d")  # of that job, on the monotonic clock, at 8
_SKIP = struct.Struct("<QQ")  # ordinals in [first, end) are not to be started, at 16
_START_AT, _SKIP_AT, _SIZE = 8, 16, 32


class Progress:
    """One slot's cell. Ordinals count the jobs sent to a child, from 1."""

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, _SIZE)

    @staticmethod
    def create() -> int:
        """Make the memory and give its descriptor, to be inherited by the child."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("lakeshore-slot")
        else:  # pragma: no cover - macOS
            handle, path = tempfile.mkstemp(prefix="lakeshore-slot-")
            os.unlink(path)  # noqa: PTH108 - no Path is needed for a file without a name
            fd = handle
        os.ftruncate(fd, _SIZE)
        return fd

    def start(self, ordinal: int, at: float) -> bool:
        """Child: note that ``ordinal`` starts at ``at``; False when the parent took it back."""
        # The start is written first and read last: a new ordinal is never seen with an older start.
        _START.pack_into(self._map, _START_AT, at)
        _ORDINAL.pack_into(self._map, 0, ordinal)
        first, end = _SKIP.unpack_from(self._map, _SKIP_AT)
        return not first <= ordinal < end

    def rest(self) -> None:
        """Child: note that nothing runs."""
        _ORDINAL.pack_into(self._map, 0, 0)

    def current(self) -> tuple[int, float]:
        """Parent: the ordinal that runs (0 for none) and when it started (monotonic seconds)."""
        (ordinal,) = _ORDINAL.unpack_from(self._map, 0)
        (at,) = _START.unpack_from(self._map, _START_AT)
        return ordinal, at

    def take_back(self, first: int, end: int) -> None:
        """Parent: forbid the child to start ordinals in [first, end). See ``current`` afterwards for what it had."""
        _SKIP.pack_into(self._map, _SKIP_AT, first, end)

    def close(self) -> None:
        """Unmap."""
        self._map.close()
