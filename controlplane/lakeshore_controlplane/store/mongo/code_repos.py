"""Snapshots of code as documents, by ``namespace/id``; the id is made of remote and commit, so each is there once."""

from __future__ import annotations

from typing import cast

from lakeshore_controlplane.documents import CodeRepo
from lakeshore_controlplane.store.mongo.database import Database, DuplicateKeyError, IndexModel

INDEXES: dict[str, list[IndexModel]] = {"code_repos": []}


class CodeRepoRows:
    """The collection ``code_repos``. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("code_repos")

    async def find(self, key: str) -> CodeRepo | None:
        """Give the document with this ``_id``, or None."""
        async with self._database.speaking():
            return cast("CodeRepo | None", await self._rows.find_one({"_id": key}))

    async def offer(self, fresh: CodeRepo) -> None:
        """Note what a client is about to upload, unless an archive is there; the last one that offers counts."""
        kept = {"_id", "createdAt"}
        update = {
            "$set": {name: value for name, value in fresh.items() if name not in kept},
            "$setOnInsert": {"createdAt": fresh["createdAt"]},
        }
        try:
            async with self._database.speaking():
                await self._rows.update_one(
                    {"_id": fresh["_id"], "uploadedAt": {"$exists": False}}, update, upsert=True
                )
        except DuplicateKeyError:
            pass  # another one's archive came at this moment

    async def finish(self, key: str, *, sha256: str, size: int, blob_key: str, now: float) -> bool:
        """Note that the archive is there; False when another one's came first, which stays."""
        async with self._database.speaking():
            done = await self._rows.update_one(
                {"_id": key, "uploadedAt": {"$exists": False}},
                {"$set": {"sha256": sha256, "size": size, "blobKey": blob_key, "uploadedAt": now}},
            )
        return done.modified_count == 1

    async def forget_upload(self, key: str, blob_key: str) -> None:
        """Note that the archive is gone from the blob store, so that the next client brings it again."""
        async with self._database.speaking():
            await self._rows.update_one({"_id": key, "blobKey": blob_key}, {"$unset": {"uploadedAt": ""}})
