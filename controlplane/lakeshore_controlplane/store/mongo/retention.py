"""What is old enough to go, and what remains of it: a note that the id was there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pymongo.errors import OperationFailure

from lakeshore_controlplane.documents import TERMINAL_STATES
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.database import BulkWriteError, Database, Document, IndexModel
from lakeshore_controlplane.store.mongo.invocations import COLLECTION

INDEXES: dict[str, list[IndexModel]] = {"expired": [IndexModel([("expireAt", 1)])]}

MEASURED = (COLLECTION, "result_chunks", "journals", "events", "elasticity_events", "expired")
"""Collections that grow with the work done."""
_ENDED = {"$in": sorted(TERMINAL_STATES)}


class OldRow(NamedTuple):
    """An invocation that is to go. ``refs`` name its payloads in the blob store."""

    id: str
    queue: str
    refs: list[str]


class StoredSize(NamedTuple):
    """How much a collection holds; ``bytes`` is None where the server cannot tell."""

    rows: int
    bytes: int | None


class RetentionRows:
    """Removes rows. Every method raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection(COLLECTION)
        self._expired = database.collection("expired")

    async def take(
        self,
        namespace: str,
        queue: str | None,
        before: float,
        limit: int,
        *,
        mark: str,
        now: float,
        until: float,
    ) -> list[OldRow]:
        """Mark up to ``limit`` rows that ended before then as this caller's to remove; nobody else's ``until`` then.

        ``queue`` None: of all queues.
        """
        old: Document = {"namespaceId": namespace, "finishedAt": {"$lte": before}, "state": _ENDED}
        if queue is not None:
            old["runConfig.queue"] = queue
        old["purgeUntil"] = {"$not": {"$gt": now}}
        async with self._database.speaking():
            found = await self._rows.find(old, {"_id": 1}).limit(limit).to_list()
            named: Document = {"_id": {"$in": [row["_id"] for row in found]}}
            if not found:
                return []
            await self._rows.update_many({**old, **named}, {"$set": {"purgeBy": mark, "purgeUntil": until}})
            shown = {"runConfig.queue": 1, "argsRef": 1, "resultRef": 1}
            taken = await self._rows.find({**named, "purgeBy": mark}, shown).to_list()
        return [_old_row(row) for row in taken]

    async def remove(self, namespace: str, ids: Collection[str], *, mark: str) -> int:
        """Delete the rows that are marked so; how many."""
        named = {"_id": {"$in": [f"{namespace}/{inv_id}" for inv_id in ids]}, "purgeBy": mark}
        async with self._database.speaking():
            return (await self._rows.delete_many(named)).deleted_count

    async def note_expired(self, namespace: str, ids: Sequence[str], expire_at: float) -> None:
        """Note that these were here, until then."""
        notes: list[Document] = [{"_id": f"{namespace}/{inv_id}", "expireAt": expire_at} for inv_id in ids]
        named = {"_id": {"$in": [note["_id"] for note in notes]}}
        try:
            async with self._database.speaking():
                await self._expired.delete_many(named)
                await self._expired.insert_many(notes, ordered=False)
        except BulkWriteError:
            return  # another one noted some of them at this moment

    async def expired_until(self, namespace: str, inv_id: str) -> float | None:
        """Until when it is noted that this id was here; None for one that is not noted."""
        async with self._database.speaking():
            found = await self._expired.find_one({"_id": f"{namespace}/{inv_id}"})
        return None if found is None else float(found["expireAt"])

    async def drop_notes(self, before: float) -> None:
        """Delete the notes of ids that expired before then."""
        async with self._database.speaking():
            await self._expired.delete_many({"expireAt": {"$lt": before}})

    async def drop_events(self, queue: QueueKey, before: float, limit: int) -> int:
        """Delete up to ``limit`` old lines of each of the queue's logs; how many went."""
        old: Document = {"namespaceId": queue.namespace, "queue": queue.name, "at": {"$lte": before}}
        gone = 0
        async with self._database.speaking():
            for name in ("events", "elasticity_events"):
                lines = self._database.collection(name)
                found = await lines.find(old, {"_id": 1}).limit(limit).to_list()
                if found:
                    named = {"_id": {"$in": [line["_id"] for line in found]}}
                    gone += (await lines.delete_many(named)).deleted_count
        return gone

    async def sizes(self) -> dict[str, StoredSize]:
        """Measure the collections that grow with the work done."""
        async with self._database.speaking():
            return {name: await self._size(name) for name in MEASURED}

    async def _size(self, name: str) -> StoredSize:
        collection = self._database.collection(name)
        try:
            found = await collection.database.command("collStats", name)
            return StoredSize(int(found["count"]), int(found["size"]))
        except (OperationFailure, KeyError):
            return StoredSize(await collection.estimated_document_count(), None)


def _old_row(row: Document) -> OldRow:
    refs = [row[name] for name in ("argsRef", "resultRef") if row.get(name)]
    return OldRow(row["_id"].partition("/")[2], row["runConfig"]["queue"], refs)
