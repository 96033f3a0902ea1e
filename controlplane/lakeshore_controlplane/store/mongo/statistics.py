"""Counters of queues that outlive their rows, and counts of the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.database import Database, Document, IndexModel, UpdateOne

INDEXES: dict[str, list[IndexModel]] = {"queue_stats": []}

_MEAN_OVER = 200
"""Successes that the mean duration looks back on: exactly for the first ones, with fading weights after that."""


class Increment(NamedTuple):
    """What happened on a queue: rows that arrived, successes, and the seconds that these ran in all."""

    arrived: int = 0
    finished: int = 0
    duration_s: float = 0.0


class Tally(NamedTuple):
    """What ever happened on a queue. ``mean_duration_s`` is None before the first success."""

    arrived: int = 0
    finished: int = 0
    mean_duration_s: float | None = None


class StatisticsRows:
    """The collection ``queue_stats``. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("queue_stats")

    async def add(self, increments: Mapping[QueueKey, Increment], now: float) -> None:
        """Add to the counters of several queues in one call."""
        writes = [
            UpdateOne({"_id": str(queue)}, _update(more, now), upsert=True)
            for queue, more in increments.items()
        ]
        async with self._database.speaking():
            await self._rows.bulk_write(writes, ordered=False)

    async def find(self, queue: QueueKey) -> Tally:
        """Give the counters; zeros for a queue that has none."""
        async with self._database.speaking():
            found = await self._rows.find_one({"_id": str(queue)})
        if found is None:
            return Tally()
        return Tally(found.get("arrived", 0), found.get("finished", 0), found.get("meanDurationS"))

    async def forget(self, queue: QueueKey, unchanged_since: float) -> bool:
        """Drop the counters of a queue on which nothing happened since then; whether they are gone."""
        unused: Document = {"_id": str(queue), "depth": {"$not": {"$gt": 0}}}
        async with self._database.speaking():
            await self._rows.delete_one({**unused, "changedAt": {"$not": {"$gt": unchanged_since}}})
            return await self._rows.find_one({"_id": str(queue)}, {"_id": 1}) is None


def _update(more: Increment, now: float) -> Document | list[Document]:
    """Move the mean by the weight of the new successes; the server computes it, so no replica's share is lost."""
    if not more.finished:
        return {"$inc": {"arrived": more.arrived}, "$max": {"changedAt": now}}
    finished: Document = {"$add": [{"$ifNull": ["$finished", 0]}, more.finished]}
    mean: Document = {"$ifNull": ["$meanDurationS", 0.0]}
    weight = {"$min": [1.0, {"$divide": [more.finished, {"$min": [finished, _MEAN_OVER]}]}]}
    step = {"$multiply": [{"$subtract": [more.duration_s / more.finished, mean]}, weight]}
    return [
        {
            "$set": {
                "arrived": {"$add": [{"$ifNull": ["$arrived", 0]}, more.arrived]},
                "finished": finished,
                "meanDurationS": {"$add": [mean, step]},
                "changedAt": {"$max": [{"$ifNull": ["$changedAt", now]}, now]},
            }
        }
    ]


class QueueCounts(NamedTuple):
    """The rows of a queue: those that could start now, those that may not yet, those under a lease.

    ``oldest``: since when the oldest of those that could start could do so, in plane time; None without one.
    """

    queued: int = 0
    delayed: int = 0
    leased: int = 0
    oldest: float | None = None


class RowCounts:
    """Counts invocation rows. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("invocations")

    async def of_queue(self, queue: QueueKey, now: float) -> QueueCounts:
        """Count in one call. A row whose lease ran out could start now, though nothing has moved it yet."""
        live = {
            "namespaceId": queue.namespace,
            "runConfig.queue": queue.name,
            "state": {"$in": ["queued", "running"]},
        }
        async with self._database.speaking():
            asked = await self._rows.aggregate([{"$match": live}, _group(now)])
            found = {row["_id"]: row for row in await asked.to_list()}
        queued, running = (found.get(state, _NONE) for state in ("queued", "running"))
        oldest = [row["oldest"] for row in (queued, running) if row["oldest"] is not None]
        return QueueCounts(
            queued=queued["startable"] + running["startable"],
            delayed=queued["rows"] - queued["startable"],
            leased=running["rows"] - running["startable"],
            oldest=min(oldest, default=None),
        )


_NONE: Document = {"rows": 0, "startable": 0, "oldest": None}


def _group(now: float) -> Document:
    since = {
        "$cond": [
            {"$eq": ["$state", "queued"]},
            {"$max": ["$dueAt", "$submittedAt"]},
            {"$ifNull": ["$leaseUntil", now + 1.0]},
        ]
    }
    startable = {"$lte": [since, now]}
    return {
        "$group": {
            "_id": "$state",
            "rows": {"$sum": 1},
            "startable": {"$sum": {"$cond": [startable, 1, 0]}},
            "oldest": {"$min": {"$cond": [startable, since, None]}},
        }
    }
