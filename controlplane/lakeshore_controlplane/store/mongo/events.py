"""The log of events: a document for each line, named by its time, so that ids are in the order of time."""

from __future__ import annotations

import secrets
from typing import Protocol

from lakeshore_controlplane.store.mongo.database import Database, Document, IndexModel

INDEXES: dict[str, list[IndexModel]] = {"events": []}

_MICROSECONDS = 1_000_000


class EventStore(Protocol):
    """What services need of the log. Every method raises ``StoreUnavailable`` when the store does not answer."""

    async def add(self, namespace: str, at: float, fields: Document) -> None:
        """Store one line."""

    async def newest(self, namespace: str, queue: str | None, limit: int, since: float) -> list[Document]:
        """Give up to ``limit`` lines, newest first, none older than ``since``; of one queue or of all."""

    async def delete_before(self, namespace: str, at: float) -> int:
        """Delete the lines before ``at``; how many went."""


class EventRows:
    """``EventStore`` in the collection ``events``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("events")

    async def add(self, namespace: str, at: float, fields: Document) -> None:
        """Store one line. See ``EventStore.add``."""
        row = {"_id": f"{_id_at(namespace, at)}-{secrets.token_hex(4)}", "at": at, **fields}
        async with self._database.speaking():
            await self._rows.insert_one(row)

    async def newest(self, namespace: str, queue: str | None, limit: int, since: float) -> list[Document]:
        """Give the newest lines. See ``EventStore.newest``."""
        query: Document = {"_id": {"$gte": _id_at(namespace, since), "$lt": f"{namespace}0"}}
        if queue is not None:
            query["queue"] = queue
        async with self._database.speaking():
            return await self._rows.find(query).sort("_id", -1).limit(limit).to_list()

    async def delete_before(self, namespace: str, at: float) -> int:
        """Delete old lines. See ``EventStore.delete_before``."""
        query = {"_id": {"$gte": f"{namespace}/", "$lt": _id_at(namespace, at)}}
        async with self._database.speaking():
            return (await self._rows.delete_many(query)).deleted_count


def _id_at(namespace: str, at: float) -> str:
    return f"{namespace}/{max(0, int(at * _MICROSECONDS)):020d}"
