"""Decisions of the elasticity controller as documents."""

from __future__ import annotations

from typing import cast

from lakeshore_controlplane.documents import ElasticityEvent
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.database import Database, Document, IndexModel

INDEXES: dict[str, list[IndexModel]] = {
    "elasticity_events": [IndexModel([("namespaceId", 1), ("queue", 1), ("at", -1)])]
}


class ElasticityEventRows:
    """The collection ``elasticity_events``. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("elasticity_events")

    async def add(self, event: ElasticityEvent) -> None:
        """Insert one decision."""
        async with self._database.speaking():
            await self._rows.insert_one(dict(event))

    async def newest(self, queue: QueueKey, limit: int, *, without: str | None) -> list[ElasticityEvent]:
        """List decisions about a queue, the newest first, without those of one kind."""
        wanted: Document = {"namespaceId": queue.namespace, "queue": queue.name}
        if without is not None:
            wanted["kind"] = {"$ne": without}
        async with self._database.speaking():
            found = await self._rows.find(wanted, {"_id": 0}).sort("at", -1).limit(limit).to_list()
        return cast("list[ElasticityEvent]", found)
