"""Workers as documents, and what they hold according to the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, cast

from lakeshore_controlplane.documents import Worker
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.mongo.database import (
    Database,
    Document,
    DuplicateKeyError,
    IndexModel,
    UpdateOne,
)

INDEXES: dict[str, list[IndexModel]] = {"workers": [IndexModel([("lastSeenAt", 1)])]}

_ATTEMPTS = 5


class WorkerKey(NamedTuple):
    """A worker of a namespace; ``str`` gives the id of its document."""

    namespace: str
    id: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.id}"


class WorkerRows:
    """The collection ``workers``. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("workers")
        self._invocations = database.collection("invocations")

    async def find(self, worker: WorkerKey) -> Worker | None:
        """Give the document, or None."""
        async with self._database.speaking():
            return cast("Worker | None", await self._rows.find_one({"_id": str(worker)}))

    async def put(self, worker: WorkerKey, changes: Document, fresh: Document) -> Worker:
        """Set ``changes``; a worker that was not there gets ``fresh`` as well."""
        update = {"$set": changes, "$setOnInsert": fresh}
        for _ in range(_ATTEMPTS):
            try:
                async with self._database.speaking():
                    found = await self._rows.find_one_and_update(
                        {"_id": str(worker)}, update, upsert=True, return_document=True
                    )
            except DuplicateKeyError:
                continue  # another request of the same worker inserted it at this moment
            if found is not None:  # some servers give nothing instead of the error
                return cast("Worker", found)
        raise StoreUnavailable("the worker's record changes too fast", retry_after_s=0.1)

    async def change(self, worker: WorkerKey, changes: Document, *, only_in: str | None = None) -> bool:
        """Set ``changes`` on a worker that is there (and in state ``only_in``); whether it was."""
        which: Document = {"_id": str(worker)} if only_in is None else {"_id": str(worker), "state": only_in}
        async with self._database.speaking():
            return (await self._rows.update_one(which, {"$set": changes})).matched_count > 0

    async def advance(self, times: Mapping[WorkerKey, Mapping[str, float]]) -> None:
        """Move times of workers forward, in one call; those that are gone stay gone."""
        writes = [UpdateOne({"_id": str(worker)}, {"$max": dict(at)}) for worker, at in times.items()]
        async with self._database.speaking():
            await self._rows.bulk_write(writes, ordered=False)

    async def delete(self, worker: WorkerKey) -> None:
        """Forget a worker; one that is not there does not matter."""
        async with self._database.speaking():
            await self._rows.delete_one({"_id": str(worker)})

    async def delete_unseen(self, since: float) -> int:
        """Forget the workers of all namespaces that were not seen since then; how many."""
        async with self._database.speaking():
            return (await self._rows.delete_many({"lastSeenAt": {"$lt": since}})).deleted_count

    async def of_namespace(self, namespace: str) -> list[Worker]:
        """List the workers of a namespace, in no order."""
        within = {"_id": {"$gte": f"{namespace}/", "$lt": f"{namespace}0"}}  # '0' follows '/'
        async with self._database.speaking():
            return cast("list[Worker]", await self._rows.find(within).to_list())

    async def leased(self, namespace: str, ids: Collection[str]) -> dict[str, int]:
        """Count the running rows of each of these workers, in one call; those without are left out."""
        if not ids:
            return {}
        held = {"namespaceId": namespace, "state": "running", "workerId": {"$in": [*ids]}}
        stages: list[Document] = [{"$match": held}, {"$group": {"_id": "$workerId", "held": {"$sum": 1}}}]
        async with self._database.speaking():
            found = await (await self._invocations.aggregate(stages)).to_list()
        return {row["_id"]: row["held"] for row in found}
