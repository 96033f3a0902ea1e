"""The end of a journal. Journals are read forwards; who looks at a page wants what came last."""

from __future__ import annotations

from typing import NamedTuple

from lakeshore_controlplane.services.reading import Reading

_MOST_ENTRIES = 50
_LARGEST = 256 * 1024
"""Bytes that are read for one look, about."""
_MOST_STEPS = 64


class Newest(NamedTuple):
    """The last entries ``(seq, bytes)`` of a journal, in their order; ``earlier``: whether there are more before."""

    entries: list[tuple[int, bytes]]
    earlier: bool


class _Place:
    """A journal of a namespace, asked for one entry at a time."""

    def __init__(self, reading: Reading, namespace: str, journal: str) -> None:
        self._reading = reading
        self._at = (namespace, journal)

    async def after(self, seq: int) -> tuple[int, bytes] | None:
        """Give the entry that follows ``seq``, or None."""
        found = await self._reading.read(*self._at, since=seq, max_bytes=1)
        return found.entries[0] if found.entries else None

    async def last(self) -> tuple[int, int, int] | None:
        """Find the first seq, the last one, and the bytes of the last: doubling steps, then halving them."""
        first = await self.after(-1)
        if first is None:
            return None
        known, last_size, step, growing = first[0], len(first[1]), 1, True
        for _ in range(_MOST_STEPS):
            found = await self.after(known + step - 1)
            if found is not None:
                known, last_size = found[0], len(found[1])
                step = step * 2 if growing else max(1, step // 2)
            elif step == 1:
                break
            else:
                growing, step = False, step // 2
        return first[0], known, last_size


async def newest(reading: Reading, namespace: str, journal: str) -> Newest:
    """Give up to 50 entries and about 256 KiB. Entries that come meanwhile may be missing."""
    ends = await _Place(reading, namespace, journal).last()
    if ends is None:
        return Newest([], False)
    first, last, last_size = ends
    wanted = max(1, min(_MOST_ENTRIES, _LARGEST // max(1, last_size)))
    since = max(first, last - wanted + 1) - 1
    found = await reading.read(namespace, journal, since=since, max_bytes=_LARGEST)
    entries = found.entries
    if (
        entries and entries[-1][0] < last
    ):  # entries before the last one are larger: the last must be among them
        entries = (await reading.read(namespace, journal, since=last - 1, max_bytes=_LARGEST)).entries
    return Newest(entries, bool(entries) and entries[0][0] > first)
