"""Appending to journals and trimming them: rows first, then the tail, then the bell.

Frames that come with their seqs have one writer, as a rule: the attempt that holds the lease. Frames without seqs may
come from many at once, on any replica: each gets the next place that nobody else took.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Sequence
from typing import TypeAlias
from weakref import WeakValueDictionary

from lakeshore_controlplane.faults import BadRequest, Fenced, StoreUnavailable
from lakeshore_controlplane.names import check_journal
from lakeshore_controlplane.services.finishing_plan import fenced_text
from lakeshore_controlplane.services.journal_plan import Head, floor_after_trim, plan
from lakeshore_controlplane.services.topics import journal_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.mongo.journals import JournalNote, JournalStore, Row, check_size
from lakeshore_controlplane.store.mongo.outcomes import OutcomeStore
from lakeshore_controlplane.store.tail.port import Tail

FrameIn: TypeAlias = tuple[int | None, bytes, bool]
"""``(seq, data, final)``; a seq of None takes the next one."""

_OWNER_BYTES = 12
_NOTE_EVERY = 1_000
"""Frames after which the place to search on from is noted anew."""
_NOTE_EVERY_NEXT = 64
"""The same for journals whose writers ask for the next seq: they search with every append."""


class Journals:
    """Writes journals."""

    def __init__(self, *, rows: JournalStore, outcomes: OutcomeStore, tail: Tail, bells: Bells) -> None:
        self._rows = rows
        self._outcomes = outcomes
        self._tail = tail
        self._bells = bells
        self._under_way: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    async def append(
        self,
        namespace: str,
        journal: str,
        frames: Sequence[FrameIn],
        *,
        worker_id: str | None = None,
        append_id: str | None = None,
    ) -> list[int]:
        """Append all or none, and give their seqs; a frame whose seq is there already is absorbed.

        Frames without seqs under an ``append_id`` that this journal knows are absorbed as well. With ``worker_id`` only
        while that worker holds the lease of the invocation (``Fenced``). Raises ``Refused`` for what cannot follow,
        ``PayloadTooLarge`` and ``BadRequest``.
        """
        return (await self._append(namespace, journal, frames, worker_id, append_id))[0]

    async def append_one(
        self, namespace: str, journal: str, frame: FrameIn, *, worker_id: str | None = None
    ) -> bool:
        """Append one frame; whether it was there already. Raises as ``append``."""
        seqs, fresh = await self._append(namespace, journal, [frame], worker_id)
        return seqs[0] not in fresh

    async def trim(self, namespace: str, journal: str, keep_last: int = 0) -> int:
        """Drop all but the last ``keep_last`` frames; how many went."""
        _check(journal, ())
        head = await self._head(namespace, journal, await self._rows.note(namespace, journal))
        floor = floor_after_trim(head, keep_last)
        if floor == 0:
            return 0
        # Noted before anything goes: a reader that misses a frame finds out that it was trimmed.
        await self._rows.keep_note(namespace, journal, JournalNote(head.next, floor, head.final))
        gone = await self._rows.delete_below(namespace, journal, floor)
        await self._tail.drop(f"{namespace}/{journal}")
        self._bells.ring([Ring(journal_topic(namespace, journal))])
        return gone

    async def _append(
        self,
        namespace: str,
        journal: str,
        frames: Sequence[FrameIn],
        worker_id: str | None,
        append_id: str | None = None,
    ) -> tuple[list[int], set[int]]:
        """Append; the seqs of all, and of those that are new."""
        _check(journal, frames)
        note, _ = await asyncio.gather(
            self._rows.note(namespace, journal), self._check_lease(namespace, journal, worker_id)
        )
        if not frames:
            return [], set()
        numbered = [Row(seq, data, final) for seq, data, final in frames if seq is not None]
        if numbered:
            fresh = await self._append_at(namespace, journal, numbered, note)
        else:
            numbered = await self._append_once(namespace, journal, frames, note, append_id)
            fresh = {row.seq for row in numbered}
        new = [(row.seq, row.data) for row in numbered if row.seq in fresh]
        await self._tail.append(f"{namespace}/{journal}", new)
        self._bells.ring([Ring(journal_topic(namespace, journal))])
        return [row.seq for row in numbered], fresh

    async def _check_lease(self, namespace: str, inv_id: str, worker_id: str | None) -> None:
        if worker_id is None:
            return
        row = await self._outcomes.holder(namespace, inv_id)
        if row is None or row["state"] != "running" or row.get("workerId") != worker_id:
            raise Fenced(fenced_text(inv_id, worker_id, row))

    async def _head(self, namespace: str, journal: str, note: JournalNote) -> Head:
        """Find the end of a journal from where the search was noted to begin."""
        last, final = await self._rows.end(namespace, journal, note.next)
        found = note.next if last is None else max(note.next, last + 1)
        return Head(max(found, note.floor), note.floor, final if note.final is None else note.final)

    async def _append_at(
        self, namespace: str, journal: str, frames: Sequence[Row], note: JournalNote
    ) -> set[int]:
        """Store frames that have their seqs; those that are new."""
        ends = any(frame.final for frame in frames)
        # Only an end must know the frames that are there; what is noted suffices for the rest.
        head = await self._head(namespace, journal, note) if ends else Head(*note)
        after = plan(journal, head, frames)
        wanted = {row.seq: row for row in reversed(frames) if row.seq >= head.floor}
        known = await self._rows.insert(namespace, journal, [*wanted.values()][::-1])
        if after.final is not None and after.final != note.final:
            marked = after.final in wanted and wanted[after.final].final and after.final not in known
            await self._end(namespace, journal, after, marked=marked)
        elif after.next - note.next >= _NOTE_EVERY:
            await self._note_quietly(namespace, journal, after)
        return wanted.keys() - known

    async def _append_once(
        self,
        namespace: str,
        journal: str,
        frames: Sequence[FrameIn],
        note: JournalNote,
        append_id: str | None,
    ) -> list[Row]:
        if append_id is None:
            return await self._append_next(
                namespace, journal, frames, note, owner=os.urandom(_OWNER_BYTES), stored=[]
            )
        owner = _owner(namespace, journal, append_id)
        # One after the other here; between replicas the database sees to it that nothing is stored twice.
        async with self._under_way.setdefault(owner, asyncio.Lock()):
            stored = await self._stored(frames, owner)
            return await self._append_next(namespace, journal, frames, note, owner=owner, stored=stored)

    async def _append_next(
        self,
        namespace: str,
        journal: str,
        frames: Sequence[FrameIn],
        note: JournalNote,
        *,
        owner: bytes,
        stored: list[Row],
    ) -> list[Row]:
        """Store frames behind the last one, whoever else does so at this moment, those of the same append too."""
        after: Head | None = None
        while len(stored) < len(frames):
            head = await self._head(namespace, journal, note)
            left = frames[len(stored) :]
            rows = [Row(head.next + place, data, final) for place, (_, data, final) in enumerate(left)]
            after = plan(journal, head, rows)
            count = await self._rows.insert_next(namespace, journal, rows, owner, len(stored))
            stored += rows[:count]
            if count < len(rows):
                note = await self._rows.note(namespace, journal)
                stored = await self._stored(frames, owner)
        if after is None:
            return stored
        if after.final is not None:
            await self._end(namespace, journal, after, marked=True)
        elif after.next - note.next >= _NOTE_EVERY_NEXT:
            await self._note_quietly(namespace, journal, after)
        return stored

    async def _stored(self, frames: Sequence[FrameIn], owner: bytes) -> list[Row]:
        """Give the first frames of an append, as far as they are stored."""
        seqs = await self._rows.appended(owner)
        return [Row(seq, data, final) for seq, (_, data, final) in zip(seqs, frames, strict=False)]

    async def _end(self, namespace: str, journal: str, after: Head, *, marked: bool) -> None:
        """Note the end, after its frame: who sees it may count on the frames before it."""
        if after.final is not None and not marked:
            await self._rows.mark_final(namespace, journal, after.final)
        await self._rows.keep_note(namespace, journal, JournalNote(*after))

    async def _note_quietly(self, namespace: str, journal: str, after: Head) -> None:
        with contextlib.suppress(StoreUnavailable):  # the frames are stored; the note only saves a search
            await self._rows.keep_note(namespace, journal, JournalNote(after.next, after.floor))


def _owner(namespace: str, journal: str, append_id: str) -> bytes:
    """Name an append; the same name in another journal is another append."""
    told = "\0".join((namespace, journal, append_id)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(told).digest()[:_OWNER_BYTES]


def _check(journal: str, frames: Sequence[FrameIn]) -> None:
    try:
        check_journal(journal)
    except ValueError as exc:
        raise BadRequest(str(exc)) from None
    unnumbered = 0
    for seq, data, _final in frames:
        check_size(journal, data)
        unnumbered += seq is None
    if 0 < unnumbered < len(frames):
        raise BadRequest(f"journal {journal}: give a seq to all frames of one append, or to none")
