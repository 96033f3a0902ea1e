"""Journals in MongoDB: a row for each frame, and for a journal that is long, trimmed or ended a document beside them.

The rows are the truth about frames. The document says what they no longer can (``floor``: the frames below it were
trimmed; ``final``), and ``next`` is a place up to which nothing has to be searched for the last frame: it may lag.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from lakeshore_controlplane.faults import PayloadTooLarge, StoreUnavailable
from lakeshore_controlplane.store.mongo.database import (
    BulkWriteError,
    Database,
    Document,
    DuplicateKeyError,
    IndexModel,
)

INDEXES: dict[str, list[IndexModel]] = {
    "result_chunks": [
        # Frames without seqs are stored once, however often they are sent; others have no such field.
        IndexModel(
            [("append", 1)],
            name="append",
            unique=True,
            partialFilterExpression={"append": {"$exists": True}},
        )
    ],
    "journals": [],
}

LARGEST_FRAME = 16 * 1024 * 1024 - 16 * 1024
"""Bytes of one frame: a document of MongoDB holds 16 MiB with its id."""

_DUPLICATE = 11000
_FIRST_REPLY = 600
_MOST_PLACES = (1 << 32) - 1
_ATTEMPTS = 5


class Row(NamedTuple):
    """A stored frame."""

    seq: int
    data: bytes
    final: bool = False


class JournalNote(NamedTuple):
    """What a journal's document says. ``next`` may lag behind the rows, never run ahead of them."""

    next: int = 0
    floor: int = 0
    final: int | None = None


class JournalStore(Protocol):
    """What services need of journals. Every method raises ``StoreUnavailable`` when the store does not answer."""

    async def note(self, namespace: str, journal: str) -> JournalNote:
        """Give what is noted of a journal."""

    async def keep_note(self, namespace: str, journal: str, note: JournalNote) -> None:
        """Note these; ``next`` and ``floor`` only grow, and a ``final`` of None changes nothing."""

    async def frames(
        self, namespace: str, journal: str, first: int, count: int, limit_bytes: int
    ) -> list[Row]:
        """Give the frames there are of seqs ``first`` to ``first + count - 1``, in order.

        No more of them than it takes to reach ``limit_bytes``; always the first.
        """

    async def end(self, namespace: str, journal: str, first: int) -> tuple[int | None, int | None]:
        """Give the seqs of the last frame from ``first`` on, and of the final one among them, or None."""

    async def insert(self, namespace: str, journal: str, rows: Sequence[Row]) -> set[int]:
        """Store frames; the seqs that were there already, whose frames stay as they are."""

    async def insert_next(
        self, namespace: str, journal: str, rows: Sequence[Row], owner: bytes, place: int
    ) -> int:
        """Store frames in order until one's seq is taken by another's; how many are stored.

        ``owner`` names the append, ``place`` the first row's place among all of its frames: each is stored once.
        """

    async def appended(self, owner: bytes) -> list[int]:
        """Give the seqs of the frames that an append has stored so far, in the order of their places."""

    async def mark_final(self, namespace: str, journal: str, seq: int) -> None:
        """Make a stored frame the final one, if it is there."""

    async def delete_below(self, namespace: str, journal: str, floor: int) -> int:
        """Delete the frames below ``floor``; how many went."""

    async def forget(self, namespace: str, journals: Iterable[str]) -> None:
        """Delete journals with all that is known of them."""


class JournalRows:
    """``JournalStore`` in the collections ``result_chunks`` and ``journals``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._frames = database.collection("result_chunks")
        self._notes = database.collection("journals")

    async def note(self, namespace: str, journal: str) -> JournalNote:
        """Give what is noted. See ``JournalStore.note``."""
        async with self._database.speaking():
            found = await self._notes.find_one({"_id": _key(namespace, journal)})
        if found is None:
            return JournalNote()
        return JournalNote(found.get("next", 0), found.get("floor", 0), found.get("final"))

    async def keep_note(self, namespace: str, journal: str, note: JournalNote) -> None:
        """Note these. See ``JournalStore.keep_note``."""
        update: Document = {"$max": {"next": note.next, "floor": note.floor}}
        if note.final is not None:
            update["$set"] = {"final": note.final}
        for _ in range(_ATTEMPTS):
            try:
                async with self._database.speaking():
                    await self._notes.update_one({"_id": _key(namespace, journal)}, update, upsert=True)
                return
            except DuplicateKeyError:
                continue  # another one inserted it at this moment: the next try finds it
        raise StoreUnavailable("a journal changes too fast", retry_after_s=0.1)

    async def frames(
        self, namespace: str, journal: str, first: int, count: int, limit_bytes: int
    ) -> list[Row]:
        """Give frames in order. See ``JournalStore.frames``."""
        # Both ends are given, and no limit: some servers read a whole range before they sort and cut it.
        key = _key(namespace, journal)
        window = {"_id": {"$gte": _frame_id(key, first), "$lt": _frame_id(key, first + count)}}
        found: list[Row] = []
        size = 0
        async with self._database.speaking():
            cursor = self._frames.find(window, batch_size=_FIRST_REPLY).sort("_id", 1)
            async with cursor:
                async for row in cursor:
                    found.append(Row(_seq(row["_id"]), row["data"], row.get("final", False)))
                    size += len(row["data"])
                    if size >= limit_bytes:
                        break
        return found

    async def end(self, namespace: str, journal: str, first: int) -> tuple[int | None, int | None]:
        """Give the last and the final seq. See ``JournalStore.end``."""
        key = _key(namespace, journal)
        last = final = None
        async with self._database.speaking():
            async for row in self._frames.find(_range(key, first), {"final": 1}):
                seq = _seq(row["_id"])
                last = seq if last is None else max(last, seq)
                if row.get("final"):
                    final = seq
        return last, final

    async def insert(self, namespace: str, journal: str, rows: Sequence[Row]) -> set[int]:
        """Store frames. See ``JournalStore.insert``."""
        documents = [_document(_key(namespace, journal), row) for row in rows]
        try:
            async with self._database.speaking():
                if len(documents) == 1:
                    await self._frames.insert_one(documents[0])
                elif documents:
                    await self._frames.insert_many(documents, ordered=False)
        except DuplicateKeyError:
            return {rows[0].seq}
        except BulkWriteError as exc:
            return {rows[index].seq for index in _duplicates(exc)}
        return set()

    async def insert_next(
        self, namespace: str, journal: str, rows: Sequence[Row], owner: bytes, place: int
    ) -> int:
        """Store frames in order. See ``JournalStore.insert_next``."""
        key = _key(namespace, journal)
        documents = [
            _document(key, row) | {"append": _place(owner, place + offset)} for offset, row in enumerate(rows)
        ]
        try:
            async with self._database.speaking():
                await self._frames.insert_many(documents, ordered=True)
        except BulkWriteError as exc:
            _duplicates(exc)
            # The driver sends again what may have been stored: what is ours counts as stored just now.
            ours = await self.appended(owner)
            stored = ours[place : place + len(rows)]
            return sum(1 for seq, row in zip(stored, rows, strict=False) if seq == row.seq)
        return len(rows)

    async def appended(self, owner: bytes) -> list[int]:
        """Give the seqs of an append. See ``JournalStore.appended``."""
        window = {"append": {"$gte": _place(owner, 0), "$lte": _place(owner, _MOST_PLACES)}}
        async with self._database.speaking():
            rows = [row async for row in self._frames.find(window, {"append": 1})]
        return [_seq(row["_id"]) for row in sorted(rows, key=lambda row: bytes(row["append"]))]

    async def mark_final(self, namespace: str, journal: str, seq: int) -> None:
        """Make a frame the final one. See ``JournalStore.mark_final``."""
        async with self._database.speaking():
            await self._frames.update_one(
                {"_id": _frame_id(_key(namespace, journal), seq)}, {"$set": {"final": True}}
            )

    async def delete_below(self, namespace: str, journal: str, floor: int) -> int:
        """Delete frames. See ``JournalStore.delete_below``."""
        key = _key(namespace, journal)
        async with self._database.speaking():
            gone = await self._frames.delete_many(
                {"_id": {"$gte": _frame_id(key, 0), "$lt": _frame_id(key, floor)}}
            )
        return gone.deleted_count

    async def forget(self, namespace: str, journals: Iterable[str]) -> None:
        """Delete journals. See ``JournalStore.forget``."""
        keys = [_key(namespace, journal) for journal in journals]
        async with self._database.speaking():
            await asyncio.gather(*[self._frames.delete_many(_range(key, 0)) for key in keys])
            await self._notes.delete_many({"_id": {"$in": keys}})


def check_size(journal: str, data: bytes) -> None:
    """Raise ``PayloadTooLarge`` for a frame that no row can hold."""
    if len(data) > LARGEST_FRAME:
        raise PayloadTooLarge(
            f"journal {journal}: a frame of {len(data)} bytes is above the limit of {LARGEST_FRAME} bytes; "
            "yield it in parts"
        )


def _key(namespace: str, journal: str) -> str:
    """Name a journal's rows. Escaped, no journal's range of ids holds another's: "a/000000000001" is one as well."""
    return f"{namespace}/{journal.replace('%', '%25').replace('/', '%2F')}"


def _frame_id(key: str, seq: int) -> str:
    return f"{key}/{seq:012d}"


def _place(owner: bytes, place: int) -> bytes:
    return owner + place.to_bytes(4)


def _seq(frame_id: str) -> int:
    return int(frame_id[-12:])


def _range(key: str, first: int) -> Document:
    """All frames from ``first`` on: '0' follows '/' in the order of characters."""
    return {"_id": {"$gte": _frame_id(key, first), "$lt": f"{key}0"}}


def _document(key: str, row: Row) -> Document:
    found: Document = {"_id": _frame_id(key, row.seq), "data": row.data}
    if row.final:
        found["final"] = True
    return found


def _duplicates(exc: BulkWriteError) -> list[int]:
    """Give the places of what was there already. Raises the error when it is about something else."""
    errors = exc.details.get("writeErrors", [])
    if exc.details.get("writeConcernErrors"):
        raise StoreUnavailable("the database did not confirm a write", retry_after_s=1.0) from exc
    if any(error.get("code") != _DUPLICATE for error in errors):
        raise exc
    return [error["index"] for error in errors]
