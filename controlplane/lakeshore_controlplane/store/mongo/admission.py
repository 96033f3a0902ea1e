"""What admission remembers of a queue: one document, changed by guarded updates, shared by all replicas.

``depth`` is never below the queued rows; it grows with reservations and shrinks when the rows are recounted.
``pending``: reservations whose rows may not be stored yet, by their id. ``version`` moves with every change of
``depth``, so that a recount which was overtaken changes nothing. ``paidUntil``: the plane time up to which the rate
limit's rows are paid for (the theoretical arrival time of the generic cell rate algorithm, ITU-T I.371).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.database import (
    Collection,
    Database,
    Document,
    DuplicateKeyError,
    IndexModel,
)

COLLECTION = "admission"

INDEXES: dict[str, list[IndexModel]] = {COLLECTION: []}


class Pending(NamedTuple):
    """A reservation for rows of these ids, made at a plane time."""

    ids: tuple[str, ...]
    at: float


class Book(NamedTuple):
    """The document as it was read."""

    depth: int
    version: int
    paid_until: float
    pending: dict[str, Pending]


class Wish(NamedTuple):
    """What a reservation asks for, and its guards.

    ``most_depth``: the depth from which it would not fit, None for a queue without ``max_depth``.
    ``paid_until`` must not lie after ``most_paid_until``, and moves ``pay_s`` on from ``now`` at the earliest; None
    for a queue without ``rate_limit``.
    """

    ids: tuple[str, ...]
    now: float
    most_depth: int | None
    most_paid_until: float | None
    pay_s: float


class AdmissionRows:
    """The collection. Every method raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._books: Collection = database.collection(COLLECTION)

    async def read(self, queue: QueueKey) -> Book | None:
        """Give the document, or None."""
        async with self._database.speaking():
            found = await self._books.find_one({"_id": str(queue)})
        if found is None:
            return None
        pending = {rid: Pending(tuple(held["ids"]), held["at"]) for rid, held in found["pending"].items()}
        return Book(found["depth"], found["version"], found["paidUntil"], pending)

    async def open(self, queue: QueueKey, depth: int) -> None:
        """Make the document where there is none."""
        made = {"_id": str(queue), "depth": depth, "version": 0, "paidUntil": 0.0, "pending": {}}
        try:
            async with self._database.speaking():
                await self._books.insert_one(made)
        except DuplicateKeyError:
            pass  # another replica made it at this moment: its count is as good

    async def reserve(self, queue: QueueKey, reservation: str, wish: Wish) -> bool:
        """Take depth and rate in one update, or nothing: False when a guard does not hold, or there is no document."""
        guard: Document = {"_id": str(queue)}
        change: Document = {}
        if wish.most_depth is not None:
            n = len(wish.ids)
            guard["depth"] = {"$lte": wish.most_depth - n}
            change["depth"] = {"$add": ["$depth", n]}
            change["version"] = {"$add": ["$version", 1]}
            change[f"pending.{reservation}"] = {"$literal": {"at": wish.now, "ids": [*wish.ids]}}
        if wish.most_paid_until is not None:
            guard["paidUntil"] = {"$lte": wish.most_paid_until}
            change["paidUntil"] = {"$add": [{"$max": ["$paidUntil", wish.now]}, wish.pay_s]}
        async with self._database.speaking():
            answer = await self._books.update_one(guard, [{"$set": change}])
        return answer.matched_count == 1

    async def settle(self, queue: QueueKey, reservation: str, *, unused: int, paid_s: float) -> bool:
        """End a reservation and give back what was not used of it; False when a recount had ended it."""
        more: Document = {}
        if unused:
            more |= {"depth": -unused, "version": 1}
        if paid_s:
            more["paidUntil"] = -paid_s
        change: Document = {"$unset": {f"pending.{reservation}": ""}}
        if more:
            change["$inc"] = more
        async with self._database.speaking():
            held = {"_id": str(queue), f"pending.{reservation}": {"$exists": True}}
            answer = await self._books.update_one(held, change)
        return answer.matched_count == 1

    async def add(self, queue: QueueKey, n: int) -> None:
        """Count ``n`` rows more, whatever the limit; does nothing for a queue without the document."""
        async with self._database.speaking():
            await self._books.update_one({"_id": str(queue)}, {"$inc": {"depth": n, "version": 1}})

    async def pay_back(self, queue: QueueKey, paid_s: float) -> None:
        """Give back rate that was not used."""
        async with self._database.speaking():
            await self._books.update_one({"_id": str(queue)}, {"$inc": {"paidUntil": -paid_s}})

    async def correct(self, queue: QueueKey, version: int, depth: int, ended: Iterable[str]) -> bool:
        """Set a recounted depth and end old reservations, unless the depth was changed since ``version``."""
        change: Document = {"$set": {"depth": depth}, "$inc": {"version": 1}}
        dropped = {f"pending.{reservation}": "" for reservation in ended}
        if dropped:
            change["$unset"] = dropped
        async with self._database.speaking():
            answer = await self._books.update_one({"_id": str(queue), "version": version}, change)
        return answer.matched_count == 1
