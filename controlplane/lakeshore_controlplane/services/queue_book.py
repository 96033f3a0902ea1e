"""Queues as the hot paths look them up: kept in the replica, and made by their first use."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Queue
from lakeshore_controlplane.services.topics import queue_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.queues import QueueRows

DEFAULT_RETENTION_S = 7 * 86_400.0
DEFAULT_LEGACY_LEASE_S = 86_400.0

_KEPT = 4_096
_FRESH_S = 5.0
"""Seconds that a copy serves while bells tell of changes."""
_FRESH_DEGRADED_S = 1.0
"""The same while bells of other replicas may be lost."""


class _Copy(NamedTuple):
    queue: Queue | None
    read_at: float
    cursor: str  # of queue_topic, from before the read


def undeclared(queue: QueueKey, now: float) -> Queue:
    """Give the document of a queue that its first submission makes: an active fifo without limits."""
    return {
        "_id": str(queue),
        "namespaceId": queue.namespace,
        "name": queue.name,
        "kind": "fifo",
        "kindParams": {},
        "state": "active",
        "declared": False,
        "admission": {},
        "elasticity": {},
        "retentionS": DEFAULT_RETENTION_S,
        "legacyLeaseS": DEFAULT_LEGACY_LEASE_S,
        "createdAt": now,
    }


class QueueBook:
    """Looks queues up; a copy is at most 5 s old (1 s while bells are degraded), and none outlives a heard change.

    Callers must not change what they get. Raises ``StoreUnavailable`` when the database does not answer.
    """

    def __init__(self, *, rows: QueueRows, bells: Bells, clock: Clock) -> None:
        self._rows = rows
        self._bells = bells
        self._clock = clock
        self._copies: OrderedDict[QueueKey, _Copy] = OrderedDict()
        self._reading: dict[QueueKey, asyncio.Task[Queue | None]] = {}

    async def get(self, queue: QueueKey) -> Queue:
        """Give the queue, made undeclared where there is none. The caller checked its name."""
        return await self.peek(queue) or await self._make(queue)

    async def peek(self, queue: QueueKey) -> Queue | None:
        """Give the queue, or None where there is none."""
        while (copy := self._fresh(queue)) is None:
            reading = self._reading.get(queue)
            if reading is None:
                return await asyncio.shield(self._begin(queue))
            await asyncio.shield(reading)  # it may have begun before a change that this caller knows of
        return copy.queue

    def _fresh(self, queue: QueueKey) -> _Copy | None:
        copy = self._copies.get(queue)
        if copy is None:
            return None
        limit = _FRESH_DEGRADED_S if self._bells.degraded else _FRESH_S
        age = self._clock.steady() - copy.read_at
        if age > limit or self._bells.moved(queue_topic(queue), copy.cursor):
            return None
        self._copies.move_to_end(queue)
        return copy

    def _begin(self, queue: QueueKey) -> asyncio.Task[Queue | None]:
        """Read on behalf of all who ask at this moment; a caller that gives up does not end it."""
        reading = asyncio.get_running_loop().create_task(self._read(queue))
        reading.add_done_callback(_retrieve)
        self._reading[queue] = reading
        return reading

    async def _read(self, queue: QueueKey) -> Queue | None:
        cursor, now = self._bells.cursor(queue_topic(queue)), self._clock.steady()
        try:
            found = await self._rows.find(queue)
        finally:
            del self._reading[queue]
        self._keep(queue, _Copy(found, now, cursor))
        return found

    async def _make(self, queue: QueueKey) -> Queue:
        found = await self._rows.ensure(undeclared(queue, self._clock.steady()))
        self._bells.ring([Ring(queue_topic(queue))])
        return found

    def _keep(self, queue: QueueKey, copy: _Copy) -> None:
        self._copies[queue] = copy
        self._copies.move_to_end(queue)
        while len(self._copies) > _KEPT:
            self._copies.popitem(last=False)


def _retrieve(reading: asyncio.Task[Queue | None]) -> None:
    """Take a failure that nobody may be waiting for any more."""
    if not reading.cancelled():
        reading.exception()
