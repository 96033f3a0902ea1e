"""Guarded updates of invocation rows in MongoDB: each transition happens once, whoever tries it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from pymongo import UpdateMany, UpdateOne

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Change, Lease, Times
from lakeshore_controlplane.store.mongo.database import Collection, Database, Document
from lakeshore_controlplane.store.mongo.invocations import COLLECTION

_BRIEF = {"argsBlob": 0, "resultBlob": 0, "codeContext": 0, "function": 0}
_FIRST = [("priority", -1), ("order", 1)]
_NEWEST = [("priority", -1), ("order", -1)]


class ClaimRows:
    """The ``Claims`` of one database. Its indexes are those of ``store.mongo.invocations``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows: Collection = database.collection(COLLECTION)
        self._queues: Collection = database.collection("queues")

    async def lease(self, keys: Sequence[str], lease: Lease) -> list[Invocation]:
        """Lease rows by key. See ``Claims.lease``."""
        if len(keys) == 1:
            found = await self._find_and_lease({"_id": keys[0], **_startable(lease)}, lease, None)
            return [found] if found else []
        stamp = _new_stamp(lease.claim_id)
        named = {"_id": {"$in": [*keys]}}
        async with self._database.speaking():
            done = await self._rows.update_many({**named, **_startable(lease)}, _stamped(lease, stamp))
            if not done.matched_count:
                return []
            rows = await self._rows.find({**named, "claimId": stamp}).to_list()
        by_key = {row["_id"]: cast("Invocation", row) for row in rows}
        return [by_key[key] for key in keys if key in by_key]

    async def lease_again(
        self, namespace: str, worker_id: str, claim_id: str, until: float | None
    ) -> list[Invocation]:
        """Give rows of an earlier claim. See ``Claims.lease_again``."""
        again = f"{claim_id}:again"
        sets: Document = {"claimId": _new_stamp(again)}
        if until is not None:
            sets["leaseUntil"] = until
        held = {"namespaceId": namespace, "workerId": worker_id, "state": "running"}
        async with self._database.speaking():
            done = await self._rows.update_many({**held, "claimId": _of_name(claim_id)}, {"$set": sets})
            if not done.matched_count:
                return []
            # By any stamp of this sort: another request of the worker may have stamped them at this moment too.
            found = await self._rows.find({**held, "claimId": _of_name(again)}).to_list()
        return cast("list[Invocation]", found)

    async def lease_next(self, queue: QueueKey, lease: Lease, *, newest: bool) -> Invocation | None:
        """Lease the first row. See ``Claims.lease_next``."""
        wanted = {**_of(queue), **_startable(lease)}
        return await self._find_and_lease(wanted, lease, _NEWEST if newest else _FIRST)

    async def startable(
        self, queue: QueueKey, n: int, lease: Lease, *, newest: bool = False, level: float | None = None
    ) -> list[str]:
        """Give keys in claim order. See ``Claims.startable``."""
        wanted = {**_of(queue), **_startable(lease)}
        if level is not None:
            wanted["priority"] = level
        asked = self._rows.find(wanted, {"_id": 1}).sort(_NEWEST if newest else _FIRST).limit(n)
        async with self._database.speaking():
            return [row["_id"] for row in await asked.to_list()]

    async def levels(self, queue: QueueKey, lease: Lease) -> dict[float, int]:
        """Count by priority. See ``Claims.levels``."""
        steps = [
            {"$match": {**_of(queue), **_startable(lease)}},
            {"$group": {"_id": "$priority", "n": {"$sum": 1}}},
        ]
        async with self._database.speaking():
            found = await (await self._rows.aggregate(steps)).to_list()
        return {float(level["_id"]): int(level["n"]) for level in found}

    async def apply(self, changes: Sequence[Change]) -> set[str]:
        """Make changes. See ``Claims.apply``."""
        if not changes:
            return set()
        keys = [key for change in changes for key in change.keys]
        async with self._database.speaking():
            if await self._matched(changes) == len(keys):
                return set(keys)
            fields = dict.fromkeys((change.proof for change in changes), 1)
            rows = await self._rows.find({"_id": {"$in": keys}}, fields).to_list()
        by_key = {row["_id"]: row for row in rows}
        return {
            key
            for change in changes
            for place, key in enumerate(change.keys)
            if _went_through(by_key.get(key), change, place)
        }

    async def _matched(self, changes: Sequence[Change]) -> int:
        if len(changes) == 1:  # a bulk of one takes longer
            return (await self._rows.update_many(_guard(changes[0]), _update(changes[0]))).matched_count
        done = await self._rows.bulk_write([_write(change) for change in changes], ordered=False)
        return done.matched_count

    async def apply_one(self, change: Change) -> Invocation | None:
        """Make one change. See ``Claims.apply_one``."""
        async with self._database.speaking():
            found = await self._rows.find_one_and_update(_guard(change), _update(change), projection=_BRIEF)
        return cast("Invocation | None", found)

    async def brief(self, keys: Sequence[str]) -> list[Invocation]:
        """Look rows up. See ``Claims.brief``."""
        if not keys:
            return []
        return await self._find({"_id": {"$in": [*keys]}})

    async def renew(self, keys: Sequence[str], worker_id: str, until: float) -> int:
        """Extend leases. See ``Claims.renew``."""
        held = {"_id": {"$in": [*keys]}, "state": "running", "workerId": worker_id}
        async with self._database.speaking():
            return (await self._rows.update_many(held, {"$set": {"leaseUntil": until}})).matched_count

    async def expired(self, now: float, limit: int, queue: QueueKey | None = None) -> list[Invocation]:
        """Give running rows without a lease. See ``Claims.expired``."""
        return await self._find({"state": "running", "leaseUntil": {"$lte": now}, **_of(queue)}, limit)

    async def overdue(self, by: float, limit: int, queue: QueueKey | None = None) -> list[Invocation]:
        """Give waiting rows past their deadline. See ``Claims.overdue``."""
        return await self._find({"state": "queued", "deadlineAt": {"$lte": by}, **_of(queue)}, limit)

    async def walk(self, queue: QueueKey, size: int) -> AsyncIterator[list[Invocation]]:
        """Give all live rows. See ``Claims.walk``."""
        page: list[Invocation] = []
        wanted = {**_of(queue), "state": {"$in": ["queued", "running"]}}
        # One cursor over the whole range, and not a query for each page: a page costs as much as its range.
        async with self._rows.find(wanted, _BRIEF).batch_size(size) as cursor:
            while True:
                async with self._database.speaking():
                    row = await anext(cursor, None)
                if row is not None:
                    page.append(cast("Invocation", row))
                if page and (row is None or len(page) >= size):
                    yield page
                    page = []
                if row is None:
                    return

    async def due(self, queue: QueueKey, now: float, limit: int) -> list[Invocation]:
        """Give rows that could start. See ``Claims.due``."""
        return await self._find({**_of(queue), "state": "queued", "dueAt": {"$lte": now}}, limit)

    async def count_queued(self, queue: QueueKey) -> int:
        """Count queued rows. See ``Claims.count_queued``."""
        query = {**_of(queue), "state": "queued"}
        async with self._database.speaking():
            answer: dict[str, Any] = await self._rows.database.command("count", COLLECTION, query=query)
        return int(answer["n"])

    async def times(self, queue: QueueKey, now: float) -> Times:
        """Find the nearest times. See ``Claims.times``."""
        queued = {**_of(queue), "state": "queued"}
        return Times(
            await self._least("dueAt", {**queued, "dueAt": {"$gt": now}}),
            await self._least("deadlineAt", {**queued, "deadlineAt": {"$gt": 0}}),
            await self._least("leaseUntil", {**_of(queue), "state": "running"}),
        )

    async def queues(self) -> list[QueueKey]:
        """Give every queue. See ``Claims.queues``."""
        async with self._database.speaking():
            found = await self._queues.find({}, {"namespaceId": 1, "name": 1}).to_list()
        return [QueueKey(queue["namespaceId"], queue["name"]) for queue in found]

    async def _find(self, wanted: Document, limit: int = 0) -> list[Invocation]:
        async with self._database.speaking():
            return cast("list[Invocation]", await self._rows.find(wanted, _BRIEF).limit(limit).to_list())

    async def _find_and_lease(
        self, wanted: Document, lease: Lease, sort: list[tuple[str, int]] | None
    ) -> Invocation | None:
        update = _stamped(lease, _new_stamp(lease.claim_id))
        async with self._database.speaking():
            found = await self._rows.find_one_and_update(wanted, update, sort=sort, return_document=True)
        return cast("Invocation | None", found)

    async def _least(self, field: str, wanted: Document) -> float | None:
        async with self._database.speaking():
            found = await self._rows.find(wanted, {field: 1}).sort(field, 1).limit(1).to_list()
        return float(found[0][field]) if found else None


def _of(queue: QueueKey | None) -> Document:
    return {} if queue is None else {"namespaceId": queue.namespace, "runConfig.queue": queue.name}


def _startable(lease: Lease) -> Document:
    # Negated, so that a row without a deadline matches too.
    in_time = {"$not": {"$lte": lease.starts_before}}
    return {"state": "queued", "dueAt": {"$lte": lease.now}, "deadlineAt": in_time}


def _new_stamp(claim_id: str | None) -> str:
    """Make what tells the rows of one update from all others."""
    stamp = uuid.uuid4().hex
    return stamp if claim_id is None else f"{claim_id}:{stamp}"


def _of_name(claim_id: str) -> Document:
    """Match every stamp that was made with that name."""
    return {"$gte": f"{claim_id}:", "$lt": f"{claim_id};"}  # ";" is what follows ":"


def _stamped(lease: Lease, stamp: str) -> Document:
    values = {
        "state": "running",
        "workerId": lease.worker_id,
        "leaseUntil": lease.until,
        "startedAt": lease.now,
        "claimId": stamp,
    }
    return {"$set": values, "$inc": {"attempt": 1}}


def _guard(change: Change) -> Document:
    named: Document = {"_id": change.keys[0]} if len(change.keys) == 1 else {"_id": {"$in": [*change.keys]}}
    for field, value in change.guard.items():
        named[field] = {"$in": [*value]} if isinstance(value, tuple) else value
    return named


def _update(change: Change) -> Document | list[Document]:
    if change.each:
        return _update_of_each(change)
    update: Document = {"$set": dict(change.sets)}
    if change.unsets:
        update["$unset"] = dict.fromkeys(change.unsets, "")
    if change.adds:
        update["$inc"] = dict(change.adds)
    return update


def _update_of_each(change: Change) -> list[Document]:
    """Make one update of many rows with values of their own: each row finds its place in the list of keys.

    A hundred updates of one row each take four times as long.
    """
    place = {"$indexOfArray": [{"$literal": [*change.keys]}, "$_id"]}
    sets: Document = {name: {"$literal": value} for name, value in change.sets.items()}
    for name, values in change.each.items():
        sets[name] = {"$arrayElemAt": [{"$literal": [*values]}, place]}
    for name, more in change.adds.items():
        sets[name] = {"$add": [f"${name}", more]}
    return [{"$set": sets}, *([{"$unset": [*change.unsets]}] if change.unsets else [])]


def _write(change: Change) -> UpdateOne | UpdateMany:
    kind = UpdateOne if len(change.keys) == 1 else UpdateMany
    return kind(_guard(change), _update(change))


def _went_through(row: Document | None, change: Change, place: int) -> bool:
    return row is not None and row.get(change.proof) == change.proof_of(place)
