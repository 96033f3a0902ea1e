"""Namespaces as documents, by name."""

from __future__ import annotations

from typing import cast

from lakeshore_controlplane.documents import Namespace
from lakeshore_controlplane.store.mongo.database import Database, Document, DuplicateKeyError, IndexModel

INDEXES: dict[str, list[IndexModel]] = {"namespaces": []}


class NamespaceRows:
    """The collection ``namespaces``. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("namespaces")

    async def find(self, name: str) -> Namespace | None:
        """Give the document, or None."""
        async with self._database.speaking():
            return cast("Namespace | None", await self._rows.find_one({"_id": name}))

    async def add(self, namespace: Namespace) -> None:
        """Insert it; one that is there stays as it is."""
        try:
            async with self._database.speaking():
                await self._rows.insert_one(dict(namespace))
        except DuplicateKeyError:
            return

    async def all(self) -> list[Namespace]:
        """List all, by name."""
        async with self._database.speaking():
            found = await self._rows.find().to_list()
        return sorted(cast("list[Namespace]", found), key=lambda namespace: namespace["_id"])

    async def delete(self, name: str) -> None:
        """Delete the document, and what is left of its queues, its events and its revoked tokens."""
        within = {"_id": {"$gte": f"{name}/", "$lt": f"{name}0"}}  # '0' follows '/'
        async with self._database.speaking():
            await self._rows.delete_one({"_id": name})
            for left in ("queues", "queue_stats", "expired"):
                await self._database.collection(left).delete_many(within)
            for left in ("tokens", "events", "elasticity_events"):
                await self._database.collection(left).delete_many({"namespaceId": name})

    async def in_use_by(self, name: str) -> str | None:
        """Say what still belongs to the namespace: invocations, queues, workers, code or tokens; None when nothing."""
        uses: tuple[tuple[str, str, Document], ...] = (
            ("invocations", "invocations", {}),
            ("queues", "queues", {"declared": True}),
            ("workers", "workers", {}),
            ("code archives", "code_repos", {}),
            ("tokens", "tokens", {"revokedAt": {"$exists": False}}),
        )
        async with self._database.speaking():
            for what, collection, more in uses:
                rows = self._database.collection(collection)
                if await rows.find_one({"namespaceId": name, **more}, {"_id": 1}) is not None:
                    return what
        return None
