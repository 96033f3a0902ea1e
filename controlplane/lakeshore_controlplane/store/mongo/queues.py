"""Queues as documents, by ``namespace/name``."""

from __future__ import annotations

from typing import cast

from lakeshore_controlplane.documents import Queue
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.database import Database, Document, DuplicateKeyError, IndexModel

INDEXES: dict[str, list[IndexModel]] = {"queues": []}

_ATTEMPTS = 5
"""Times that an upsert is tried against others that insert and delete the same queue."""


class QueueRows:
    """The collection ``queues``. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("queues")
        self._invocations = database.collection("invocations")

    async def find(self, queue: QueueKey) -> Queue | None:
        """Give the document, or None."""
        async with self._database.speaking():
            return cast("Queue | None", await self._rows.find_one({"_id": str(queue)}))

    async def ensure(self, fresh: Queue) -> Queue:
        """Insert ``fresh`` unless the queue is there; give what is stored then."""
        return await self.put({}, cast("Document", fresh))

    async def put(self, changes: Document, fresh: Document) -> Queue:
        """Set ``changes`` on the queue that ``fresh`` names; where there is none, insert ``fresh`` with them."""
        update: Document = {
            "$setOnInsert": {k: v for k, v in fresh.items() if k not in changes and k != "_id"}
        }
        if changes:
            update["$set"] = changes
        for _ in range(_ATTEMPTS):
            try:
                async with self._database.speaking():
                    found = await self._rows.find_one_and_update(
                        {"_id": fresh["_id"]}, update, upsert=True, return_document=True
                    )
            except DuplicateKeyError:
                continue  # another one inserted it at this moment: the next try finds it
            if found is not None:  # some servers give nothing instead of the error
                return cast("Queue", found)
        raise StoreUnavailable(f"the queue {fresh['name']!r} changes too fast", retry_after_s=0.1)

    async def change(self, queue: QueueKey, changes: Document) -> Queue | None:
        """Set ``changes`` on a queue that is there; None when it is not."""
        async with self._database.speaking():
            found = await self._rows.find_one_and_update(
                {"_id": str(queue)}, {"$set": changes}, return_document=True
            )
        return cast("Queue | None", found)

    async def of_namespace(self, namespace: str) -> list[Queue]:
        """List all queues of the namespace, by name."""
        async with self._database.speaking():
            found = await self._rows.find(_within(namespace)).to_list()
        return sorted(cast("list[Queue]", found), key=lambda queue: queue["name"])

    async def every(self, limit: int, after: str = "") -> list[Queue]:
        """Page through the queues of all namespaces, by id."""
        async with self._database.speaking():
            found = await self._rows.find({"_id": {"$gt": after}}).sort("_id", 1).limit(limit).to_list()
        return cast("list[Queue]", found)

    async def delete(self, queue: QueueKey, *, undeclared_only: bool = False) -> bool:
        """Delete the document; whether it was there."""
        only: Document = {"declared": False} if undeclared_only else {}
        async with self._database.speaking():
            return (await self._rows.delete_one({"_id": str(queue), **only})).deleted_count > 0

    async def has_rows(self, queue: QueueKey) -> bool:
        """Whether any invocation of the queue is stored."""
        of_queue = {"namespaceId": queue.namespace, "runConfig.queue": queue.name}
        async with self._database.speaking():
            return await self._invocations.find_one(of_queue, {"_id": 1}) is not None


def _within(namespace: str) -> Document:
    """A range of ids: '0' follows '/' in the order of characters, and no namespace has a slash."""
    return {"_id": {"$gte": f"{namespace}/", "$lt": f"{namespace}0"}}
