"""The one place where the MongoDB driver is imported and its failures are named.

pymongo's own asyncio client is used where the first plan said motor: motor's support has ended, and it runs every
command in a thread (docs/decisions/0008).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import (
    BulkWriteError,
    ConnectionFailure,
    DuplicateKeyError,
    ExecutionTimeout,
    OperationFailure,
    PyMongoError,
    WTimeoutError,
)
from pymongo.operations import IndexModel, InsertOne, UpdateOne

from lakeshore_controlplane.faults import StoreUnavailable

__all__ = [
    "BulkWriteError",
    "Collection",
    "Database",
    "Document",
    "DuplicateKeyError",
    "IndexModel",
    "InsertOne",
    "UpdateOne",
]

Document: TypeAlias = dict[str, Any]
Collection: TypeAlias = AsyncCollection[Document]

_SELECT_MS = 3_000
_SOCKET_MS = 20_000
_CONNECT_MS = 3_000
_NOT_PRIMARY = {10107, 13435, 11600, 11602, 189, 91}
_DISK_FULL = 14031
_GONE = "the database cannot write, or has given up: make room on its disk, then start it again"


class Database:
    """One database of one deployment. ``collection(name)`` gives the driver's collection."""

    def __init__(self, url: str, name: str) -> None:
        self._client: AsyncMongoClient[Document] = AsyncMongoClient(
            url,
            serverSelectionTimeoutMS=_SELECT_MS,
            socketTimeoutMS=_SOCKET_MS,
            connectTimeoutMS=_CONNECT_MS,
            w="majority",  # and retryWrites, unless the URL says otherwise
            journal=True,  # acknowledged means on the disk, also where there is one server alone
            appname="lakeshore",
            maxPoolSize=64,
        )
        self._database: AsyncDatabase[Document] = self._client[name]

    def collection(self, name: str) -> Collection:
        """Give a collection; nothing is asked of the server."""
        return self._database[name]

    async def ensure_indexes(self, indexes: Mapping[str, list[IndexModel]]) -> None:
        """Make the indexes that are missing, by collection."""
        async with self.speaking():
            for name, models in indexes.items():
                if models:
                    await self._database[name].create_indexes(models)

    async def ping(self) -> None:
        """Raise ``StoreUnavailable`` unless the server answers."""
        async with self.speaking():
            await self._database["namespaces"].find_one({}, {"_id": 1})  # its engine, not its network alone

    async def time(self) -> tuple[float, float, float]:
        """The server's Unix time in seconds, and ``time.monotonic`` before and after it was asked."""
        async with self.speaking():
            asked_at = time.monotonic()
            answer = await self._client.admin.command("hello")
            answered_at = time.monotonic()
        return answer["localTime"].timestamp(), asked_at, answered_at

    @asynccontextmanager
    async def speaking(self) -> AsyncIterator[None]:
        """Turn the driver's ways to say "not now" into ``StoreUnavailable``; refusals of content pass through."""
        try:
            yield
        except (DuplicateKeyError, BulkWriteError):
            raise
        except (ConnectionFailure, ExecutionTimeout, WTimeoutError) as exc:
            raise StoreUnavailable("the database does not answer", retry_after_s=1.0) from exc
        except OperationFailure as exc:
            if exc.code in _NOT_PRIMARY:
                raise StoreUnavailable("the database elects a primary", retry_after_s=1.0) from exc
            if exc.code == _DISK_FULL or "WT_PANIC" in str(exc):
                raise StoreUnavailable(_GONE, retry_after_s=5.0) from exc
            raise
        except PyMongoError as exc:
            raise StoreUnavailable("the database does not answer", retry_after_s=1.0) from exc

    async def drop(self) -> None:
        """Delete the whole database (for tests and tries)."""
        async with self.speaking():
            await self._client.drop_database(self._database.name)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()
