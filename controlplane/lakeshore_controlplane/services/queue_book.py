"""Queues as the hot paths look them up: kept in the replica, and made by their first use."""

from __future__ import annotations

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Queue
from lakeshore_controlplane.services.copies import Copies
from lakeshore_controlplane.services.topics import queue_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.queues import QueueRows

DEFAULT_RETENTION_S = 7 * 86_400.0
DEFAULT_LEGACY_LEASE_S = 86_400.0


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
    """Looks queues up; what it gives is at most 5 s old (1 s while bells are degraded), see ``Copies``.

    Callers must not change what they get. Raises ``StoreUnavailable`` when the database does not answer.
    """

    def __init__(self, *, rows: QueueRows, bells: Bells, clock: Clock) -> None:
        self._rows = rows
        self._bells = bells
        self._clock = clock
        self._copies: Copies[QueueKey, Queue | None] = Copies(
            topic=queue_topic, read=rows.find, bells=bells, clock=clock
        )

    async def get(self, queue: QueueKey) -> Queue:
        """Give the queue, made undeclared where there is none. The caller checked its name."""
        return await self._copies.get(queue) or await self._make(queue)

    async def peek(self, queue: QueueKey) -> Queue | None:
        """Give the queue, or None where there is none: that is never a copy, as another replica may just make it."""
        return await self._copies.get(queue) or await self._rows.find(queue)

    async def _make(self, queue: QueueKey) -> Queue:
        found = await self._rows.ensure(undeclared(queue, self._clock.steady()))
        self._bells.ring([Ring(queue_topic(queue))])
        return found
