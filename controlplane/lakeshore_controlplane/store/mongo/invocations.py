"""Invocation rows as they are made and looked up; claims and ends have modules of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, cast

from bson.errors import BSONError
from pymongo.errors import DocumentTooLarge

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import BadRequest, PayloadTooLarge
from lakeshore_controlplane.store.mongo.database import (
    BulkWriteError,
    Database,
    Document,
    DuplicateKeyError,
    IndexModel,
)
from lakeshore_controlplane.store.mongo.database import (
    Collection as MongoCollection,
)

COLLECTION = "invocations"

INDEXES: dict[str, list[IndexModel]] = {
    COLLECTION: [
        # Claims that bypass the lane, refills of a lane, and counts by queue and state.
        IndexModel(
            [("namespaceId", 1), ("runConfig.queue", 1), ("state", 1), ("priority", -1), ("order", 1)],
            name="claim_order",
        ),
        # A key belongs to one invocation of its queue; also finds the earlier one.
        IndexModel(
            [("namespaceId", 1), ("runConfig.queue", 1), ("idempotencyKey", 1)],
            name="key",
            unique=True,
            partialFilterExpression={"idempotencyKey": {"$exists": True}},
        ),
        # The sweeper: leases that ran out, deadlines that passed.
        IndexModel([("leaseUntil", 1)], name="lease", partialFilterExpression={"state": "running"}),
        IndexModel(
            [("deadlineAt", 1)], name="deadline", partialFilterExpression={"deadlineAt": {"$exists": True}}
        ),
        # What a worker holds: its heartbeat, the list of workers.
        IndexModel(
            [("namespaceId", 1), ("workerId", 1)],
            name="held",
            partialFilterExpression={"state": "running"},
        ),
        # The tree of a pipeline, in the order of submission.
        IndexModel([("namespaceId", 1), ("rootInvocationId", 1), ("order", 1)], name="tree"),
        # Lists, newest first.
        IndexModel([("namespaceId", 1), ("order", -1)], name="newest"),
        # Retention and purges: what ended longest ago.
        IndexModel(
            [("namespaceId", 1), ("runConfig.queue", 1), ("finishedAt", 1)],
            name="finished",
            partialFilterExpression={"finishedAt": {"$exists": True}},
        ),
    ]
}

_BRIEF = {"argsHash": 1, "idempotencyKey": 1, "runConfig.queue": 1}
_WITHOUT_BODIES = {"argsBlob": 0, "resultBlob": 0}
_TOO_LARGE = 10334
_DUPLICATE_KEY = 11000


class RowFilter(NamedTuple):
    """Which rows of a namespace; None: any."""

    queue: str | None = None
    state: str | None = None
    root: str | None = None

    def to_query(self, namespace: str) -> Document:
        """Give the database's form."""
        named = {"runConfig.queue": self.queue, "state": self.state, "rootInvocationId": self.root}
        return {
            "namespaceId": namespace,
            **{field: value for field, value in named.items() if value is not None},
        }


class InvocationRows:
    """The collection of invocations. Every method raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows: MongoCollection = database.collection(COLLECTION)

    async def insert(self, rows: Sequence[Invocation]) -> set[int]:
        """Store rows, each by itself; the places of those whose id or key is known already.

        Raises ``BadRequest`` or ``PayloadTooLarge`` for a field that no row can hold.
        """
        try:
            async with self._database.speaking():
                if len(rows) == 1:
                    await self._rows.insert_one(dict(rows[0]))
                else:
                    await self._rows.insert_many([dict(row) for row in rows], ordered=False)
        except DuplicateKeyError:
            return {0}
        except BulkWriteError as exc:
            return _duplicates(exc)
        except DocumentTooLarge as exc:
            raise PayloadTooLarge("a row is too large to be stored: pass large values by args_ref") from exc
        except (BSONError, OverflowError, UnicodeError) as exc:
            raise BadRequest(f"a field of a submission cannot be stored: {str(exc)[:120]}") from exc
        return set()

    async def remove(self, ids: Collection[str]) -> None:
        """Take rows back by their ``_id``, whatever became of them."""
        async with self._database.speaking():
            await self._rows.delete_many({"_id": {"$in": [*ids]}})

    async def find_known(
        self, namespace: str, ids: Iterable[str], keys: dict[str, set[str]]
    ) -> list[Invocation]:
        """Give ``_id``, ``argsHash``, ``idempotencyKey`` and queue of rows by id, and by key (queue -> keys)."""
        found: list[Document] = []
        async with self._database.speaking():
            by_id = {"_id": {"$in": [f"{namespace}/{inv_id}" for inv_id in ids]}}
            found += await self._rows.find(by_id, _BRIEF).to_list()
            for queue, wanted in keys.items():
                by_key = {
                    "namespaceId": namespace,
                    "runConfig.queue": queue,
                    "idempotencyKey": {"$in": [*wanted]},
                }
                found += await self._rows.find(by_key, _BRIEF).to_list()
        return cast("list[Invocation]", found)

    async def find_roots(self, namespace: str, ids: Iterable[str]) -> dict[str, str]:
        """Give the root of each of these invocations that exists."""
        wanted = {"_id": {"$in": [f"{namespace}/{inv_id}" for inv_id in ids]}}
        async with self._database.speaking():
            found = await self._rows.find(wanted, {"rootInvocationId": 1}).to_list()
        return {row["_id"].partition("/")[2]: row["rootInvocationId"] for row in found}

    async def get(self, namespace: str, inv_id: str) -> Invocation | None:
        """Give a row without its arguments and result, or None."""
        async with self._database.speaking():
            found = await self._rows.find_one({"_id": f"{namespace}/{inv_id}"}, _WITHOUT_BODIES)
        return cast("Invocation | None", found)

    async def find(
        self, namespace: str, wanted: RowFilter, limit: int, *, newest_first: bool = True
    ) -> list[Invocation]:
        """Give up to ``limit`` (at least 1) rows without arguments and results, in the order of submission."""
        asked = self._rows.find(wanted.to_query(namespace), _WITHOUT_BODIES)
        async with self._database.speaking():
            found = await asked.sort("order", -1 if newest_first else 1).limit(limit).to_list()
        return cast("list[Invocation]", found)

    async def count(self, namespace: str, wanted: RowFilter, *, without: Collection[str] = ()) -> int:
        """Count rows, leaving out those of these ids. Reads the index, not the rows, unless ids are left out."""
        query = wanted.to_query(namespace)
        if without:
            query["_id"] = {"$nin": [f"{namespace}/{inv_id}" for inv_id in without]}
        async with self._database.speaking():
            # The aggregation behind ``count_documents`` takes four times as long.
            answer: dict[str, Any] = await self._rows.database.command("count", COLLECTION, query=query)
        return int(answer["n"])


def _duplicates(exc: BulkWriteError) -> set[int]:
    """Give the places that an unordered insert found taken. Any other failure is raised on."""
    errors: list[dict[str, Any]] = (exc.details or {}).get("writeErrors", [])
    if any(error.get("code") == _TOO_LARGE for error in errors):
        raise PayloadTooLarge("a row is too large to be stored: pass large values by args_ref") from exc
    if not errors or any(error.get("code") != _DUPLICATE_KEY for error in errors):
        raise exc
    return {int(error["index"]) for error in errors}
