"""Forgetting what ended long ago: payloads first, then frames, then the row, so that nothing is left behind."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Queue
from lakeshore_controlplane.faults import BadRequest, Expired
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.revisions import Revisions
from lakeshore_controlplane.services.topics import change_topic, queue_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import Lane, QueueKey
from lakeshore_controlplane.store.mongo.journals import JournalStore
from lakeshore_controlplane.store.mongo.queues import QueueRows
from lakeshore_controlplane.store.mongo.retention import OldRow, RetentionRows, StoredSize
from lakeshore_controlplane.store.mongo.statistics import StatisticsRows
from lakeshore_controlplane.store.tail.port import Tail

NOTED_S = 30 * 86_400.0
"""Seconds that a purged id is answered with ``expired``."""
UNUSED_S = 7 * 86_400.0
"""Seconds after which an undeclared queue without rows goes, with its counters, when nothing happens on it."""

_BATCH = 500
_PART = 50
_TURN_S = 5.0
"""Seconds that one queue's batches may take in a turn; each turn does one at least."""
_QUEUES_A_TURN = 50
_MARKED_S = 60.0
"""Seconds after which another replica removes what one began to remove and did not."""


class Retention:
    """Removes old invocations, any number of replicas at once: each row is one replica's to remove."""

    def __init__(
        self,
        *,
        rows: RetentionRows,
        queues: QueueRows,
        statistics: StatisticsRows,
        journals: JournalStore,
        payloads: Payloads,
        tail: Tail,
        lane: Lane,
        bells: Bells,
        clock: Clock,
    ) -> None:
        self._rows = rows
        self._queues = queues
        self._statistics = statistics
        self._journals = journals
        self._payloads = payloads
        self._tail = tail
        self._revisions = Revisions(lane=lane, clock=clock)
        self._bells = bells
        self._clock = clock
        self._after = ""

    async def purge(self, namespace: str, older_than_s: float) -> int:
        """Forget the invocations that ended longer ago than this, with all that is theirs; how many went."""
        if not (math.isfinite(older_than_s) and older_than_s >= 0):
            raise BadRequest(f"older_than_s {older_than_s!r}: use seconds from 0 up")
        before = self._clock.steady() - older_than_s
        gone = 0
        while (count := await self._purge_batch(namespace, None, before)) is not None:
            gone += count
        return gone

    async def raise_if_expired(self, namespace: str, inv_id: str) -> None:
        """Raise ``Expired`` for an id that was purged. Ask only when there is no row: an id may be used again."""
        until = await self._rows.expired_until(namespace, inv_id)
        if until is not None and until > self._clock.steady():
            raise Expired(f"invocation {inv_id} was purged: its retention is over")

    async def sweep(self) -> int:
        """Do a turn of the sweeper: some queues, in bounded batches; how many invocations went."""
        turn = await self._queues.every(_QUEUES_A_TURN, self._after)
        self._after = turn[-1]["_id"] if len(turn) == _QUEUES_A_TURN else ""
        gone = 0
        for queue in turn:
            gone += await self._sweep_queue(queue)
        if not self._after:
            await self._rows.drop_notes(self._clock.steady())
        return gone

    async def sizes(self) -> dict[str, StoredSize]:
        """Measure what grows with the work done, by collection."""
        return await self._rows.sizes()

    async def _sweep_queue(self, queue: Queue) -> int:
        key = QueueKey(queue["namespaceId"], queue["name"])
        before = self._clock.steady() - queue["retentionS"]
        gone = 0
        ends = time.monotonic() + _TURN_S
        count: int | None = 0
        while count is not None and time.monotonic() < ends:
            count = await self._purge_batch(key.namespace, key.name, before)
            gone += count or 0
        await self._rows.drop_events(key, before, _BATCH)
        await self._drop_unused(queue, key)
        return gone

    async def _purge_batch(self, namespace: str, queue: str | None, before: float) -> int | None:
        """Remove some; how many, or None when there is nothing more to remove."""
        mark, now = uuid.uuid4().hex, self._clock.steady()
        taken = await self._rows.take(
            namespace, queue, before, _BATCH, mark=mark, now=now, until=now + _MARKED_S
        )
        gone = 0
        for begin in range(0, len(taken), _PART):
            if self._clock.steady() > now + _MARKED_S / 2:
                break  # the stores are slow: leave the rest to whoever marks them next
            part = taken[begin : begin + _PART]
            await self._drop_what_is_theirs(namespace, part)
            await self._rows.note_expired(namespace, [row.id for row in part], now + NOTED_S)
            gone += await self._rows.remove(namespace, [row.id for row in part], mark=mark)
        for name in {row.queue for row in taken}:
            await self._tell(QueueKey(namespace, name))
        return gone if taken else None

    async def _drop_what_is_theirs(self, namespace: str, rows: Sequence[OldRow]) -> None:
        await self._payloads.discard(namespace, [ref for row in rows for ref in row.refs])
        journals = [name for row in rows for name in (row.id, f"log:{row.id}")]
        await self._journals.forget(namespace, journals)
        await asyncio.gather(*(self._tail.drop(f"{namespace}/{journal}") for journal in journals))

    async def _drop_unused(self, queue: Queue, key: QueueKey) -> None:
        since = self._clock.steady() - UNUSED_S
        if queue["declared"] or queue["createdAt"] > since or await self._queues.has_rows(key):
            return
        if await self._statistics.forget(key, since) and await self._queues.delete(key, undeclared_only=True):
            self._bells.ring([Ring(queue_topic(key))])

    async def _tell(self, queue: QueueKey) -> None:
        await self._revisions.advance(queue)
        self._bells.ring([Ring(change_topic(queue))])
