"""Reading journals: what follows a cursor, gapless and in order, waiting for the first of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

from lakeshore_controlplane.documents import TERMINAL_STATES
from lakeshore_controlplane.faults import BadRequest, NotFound
from lakeshore_controlplane.names import check_journal
from lakeshore_controlplane.services.first_ring import first_ring
from lakeshore_controlplane.services.topics import journal_topic
from lakeshore_controlplane.store.bells.port import Bells, Subscription
from lakeshore_controlplane.store.mongo.journals import JournalStore, Row
from lakeshore_controlplane.store.mongo.outcomes import OutcomeStore
from lakeshore_controlplane.store.tail.port import Tail

LOOK_AGAIN_S = 5.0
LOOK_AGAIN_DEGRADED_S = 0.5
_LOG = "log:"
"""The journal of what an invocation printed is ``log:<id>``; it ends with the invocation, as the one of its id."""

_PAGE = 512
_STREAM_BYTES = 256 * 1024
_STREAM_POLL_S = 30.0
_SIZES_KEPT = 10_000


class Batch(NamedTuple):
    """Entries ``(seq, bytes)`` that follow a cursor without a gap, and what is known of more.

    ``done``: nothing can follow. ``missing``: the journal has ended, and this frame of it never came. ``state``: of
    the invocation that the journal belongs to, where it was looked at.
    """

    entries: list[tuple[int, bytes]]
    done: bool = False
    missing: int | None = None
    state: str | None = None


class _Place(NamedTuple):
    """Where a reader is, and how much it takes at once."""

    namespace: str
    journal: str
    since: int
    max_bytes: int

    @property
    def name(self) -> str:
        """The journal's name in the tail."""
        return f"{self.namespace}/{self.journal}"


class Reading:
    """Reads journals, from the tail where it has what is wanted, from the rows otherwise."""

    def __init__(
        self,
        *,
        rows: JournalStore,
        outcomes: OutcomeStore,
        tail: Tail,
        bells: Bells,
        stopping: Callable[[], bool],
    ) -> None:
        """``stopping()`` says that this replica goes away: every read is answered then."""
        self._rows = rows
        self._outcomes = outcomes
        self._tail = tail
        self._bells = bells
        self._stopping = stopping
        self._sizes: dict[str, int] = {}

    async def read(
        self,
        namespace: str,
        journal: str,
        *,
        since: int = -1,
        timeout_s: float = 0.0,
        max_bytes: int = 1 << 20,
    ) -> Batch:
        """Give what follows ``since``, up to about ``max_bytes``, waiting up to ``timeout_s`` for the first entry."""
        _check(journal)
        entries = await self._tail.read(f"{namespace}/{journal}", since, max_bytes)
        if entries:
            return Batch(entries)
        if timeout_s <= 0:
            return await self._look(_Place(namespace, journal, since, max_bytes))
        heard = [self._bells.subscribe(journal_topic(namespace, name)) for name in _announced(journal)]
        try:
            return await self._wait(_Place(namespace, journal, since, max_bytes), timeout_s, heard)
        finally:
            for bell in heard:
                bell.close()

    async def _wait(self, place: _Place, timeout_s: float, heard: Sequence[Subscription]) -> Batch:
        ends = time.monotonic() + timeout_s
        while True:
            found = await self._look(place)
            left = ends - time.monotonic()
            if found.entries or found.done or left <= 0 or self._stopping():
                return found
            degraded = self._bells.degraded
            if await first_ring(heard, min(left, LOOK_AGAIN_DEGRADED_S if degraded else LOOK_AGAIN_S)):
                entries = await self._tail.read(place.name, place.since, place.max_bytes)
                if entries:
                    return Batch(entries, state=found.state)
            elif not degraded and time.monotonic() >= ends:
                return found  # no bell, so nothing came since the last look

    async def _look(self, place: _Place) -> Batch:
        """Look at the rows once."""
        namespace, journal, since, _ = place
        note, row, frames = await asyncio.gather(
            self._rows.note(namespace, journal),
            self._outcomes.holder(namespace, _owner(journal)),
            self._window(place, since + 1),
        )
        state = None if row is None else row["state"]
        first = max(since + 1, note.floor)
        entries = _run(frames, first)
        ended = note.final is not None or state in TERMINAL_STATES
        if not entries and (ended or first > since + 1):
            # Whatever belongs to an ended journal is stored by now; the window may have been read before that.
            entries = _run(await self._window(place, first), first)
        if entries:
            last = entries[-1]
            done = last.final or last.seq == note.final
            return Batch([(found.seq, found.data) for found in entries], done, None, state)
        if not ended:
            return Batch([], state=state)
        final = note.final
        if final is None:
            last_seq, final = await self._rows.end(namespace, journal, max(first, note.next))
            final = max(note.next - 1, -1 if last_seq is None else last_seq) if final is None else final
        return Batch([], True, None if first > final else first, state)

    async def _window(self, place: _Place, first: int) -> list[Row]:
        """Read rows from ``first`` on: as many as fit, by the size that this journal's frames had before."""
        namespace, journal, _, max_bytes = place
        count = max(1, min(_PAGE, max_bytes // self._sizes.get(place.name, 1)))
        found = await self._rows.frames(namespace, journal, first, count, max_bytes)
        if found:
            if len(self._sizes) > _SIZES_KEPT:
                self._sizes.clear()
            self._sizes[place.name] = 1 + sum(len(row.data) for row in found) // len(found)
        return found

    async def stream(
        self, namespace: str, inv_id: str, *, since: int = -1, timeout_s: float = 3600.0
    ) -> AsyncIterator[bytes]:
        """Give an invocation's frames verbatim as one stream of bytes: what is there, then what comes.

        It ends with the final frame or the invocation, at a frame that never came, when nothing comes for
        ``timeout_s``, and when this replica stops. Raises ``NotFound`` for an id that nobody submitted here.
        """
        if await self._outcomes.holder(namespace, inv_id) is None:
            raise NotFound(unknown_text(inv_id))
        return self._pieces(namespace, inv_id, since, timeout_s)

    async def _pieces(
        self, namespace: str, inv_id: str, since: int, timeout_s: float
    ) -> AsyncIterator[bytes]:
        quiet_since = time.monotonic()
        while not self._stopping():
            left = quiet_since + timeout_s - time.monotonic()
            wait_s = max(0.0, min(left, _STREAM_POLL_S))
            batch = await self.read(namespace, inv_id, since=since, timeout_s=wait_s, max_bytes=_STREAM_BYTES)
            done = batch.done or (not batch.entries and left <= 0)
            if batch.entries:
                since = batch.entries[-1][0]
                piece = b"".join([data for _, data in batch.entries])
                del batch  # a reader that takes its time holds the piece alone
                yield piece
                quiet_since = time.monotonic()
            if done:
                return


def unknown_text(inv_id: str) -> str:
    """Say that nobody knows an invocation."""
    return (
        f"no invocation {inv_id} on this plane: it was purged, or submitted to another one "
        "(compare LAKESHORE_HOME or the URL on both sides)"
    )


def _owner(journal: str) -> str:
    return journal.removeprefix(_LOG)


def _announced(journal: str) -> list[str]:
    """Name the journals whose bells tell of this one: the end of an invocation rings for the one of its id."""
    return [journal] if not journal.startswith(_LOG) else [journal, _owner(journal)]


def _run(frames: Sequence[Row], first: int) -> list[Row]:
    """Take the frames from ``first`` on up to the first gap or the final one."""
    found: list[Row] = []
    for row in frames:
        if row.seq < first:
            continue
        if row.seq != first + len(found):
            break
        found.append(row)
        if row.final:
            break
    return found


def _check(journal: str) -> None:
    try:
        check_journal(journal)
    except ValueError as exc:
        raise BadRequest(str(exc)) from None
