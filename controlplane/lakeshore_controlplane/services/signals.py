"""What the elasticity of a queue is decided on: one snapshot, or a wait until there is another one."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.services.revisions import Revisions
from lakeshore_controlplane.services.statistics import Statistics
from lakeshore_controlplane.services.topics import change_topic
from lakeshore_controlplane.store.bells.port import Bells
from lakeshore_controlplane.store.lane.port import Lane, QueueKey
from lakeshore_controlplane.store.mongo.statistics import RowCounts

_SAME_S = 0.1
"""Seconds that a snapshot serves while the revision stays."""
_SHARE = 4.0
"""A snapshot of many rows serves this many times as long as it took to make, whatever changed: its readers take at
most a fifth of one connection's time."""
_MANY_ROWS = 20_000
_LOOK_AGAIN_S = 5.0
_LOOK_AGAIN_BLIND_S = 0.5
"""Seconds between two looks while bells may be lost or revisions are not known."""
_SOON_S = 0.05
"""Seconds after a bell until the next look: a revision may follow the bell that tells of it."""
_KEPT = 1_024


@dataclass(frozen=True, slots=True)
class _Snapshot:
    signals: dict[str, object]
    revision: int | None
    cursor: str  # of change_topic, from before the counts
    as_of: float  # plane time
    made_at: float  # time.monotonic
    serves_s: float  # whatever changes


class Signals:
    """Snapshots of queues. Counts come from the rows; no claim is needed to see what could start."""

    def __init__(
        self,
        *,
        counts: RowCounts,
        statistics: Statistics,
        lane: Lane,
        bells: Bells,
        clock: Clock,
        settle: Callable[[QueueKey], Awaitable[None]],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """``settle(queue)`` brings what this replica still owes the lane, and with it the revision, up to date.

        ``stopping()`` says whether this replica is going away: waits end then.
        """
        self._counts = counts
        self._statistics = statistics
        self._revisions = Revisions(lane=lane, clock=clock)
        self._bells = bells
        self._clock = clock
        self._stopping = stopping
        self._settle = settle
        self._kept: OrderedDict[QueueKey, _Snapshot] = OrderedDict()
        self._making: dict[QueueKey, asyncio.Lock] = {}

    async def read(
        self, namespace: str, queue: str, *, since: int | None = None, wait_s: float = 0.0
    ) -> dict[str, object]:
        """Give a snapshot; with ``since``, wait up to ``wait_s`` until its revision is another one."""
        key, ends = QueueKey(namespace, queue), time.monotonic() + wait_s
        bell = self._bells.subscribe(change_topic(key))
        rung = False
        try:
            while True:
                found = await self._snapshot(key)
                left = ends - time.monotonic()
                moved = found.revision is not None and found.signals["revision"] != since
                if moved or since is None or left <= 0 or self._stopping():
                    return found.signals
                if rung:
                    pause = _SOON_S
                elif self._bells.degraded or found.revision is None:
                    pause = _LOOK_AGAIN_BLIND_S
                else:
                    pause = _LOOK_AGAIN_S
                rung = await bell.wait(min(left, pause))
                await self._let_pass(found, ends)
                if found.revision is None and await self._revisions.known(key) is None:
                    return (await self._snapshot(key)).signals
        finally:
            bell.close()

    async def _let_pass(self, found: _Snapshot, ends: float) -> None:
        """Wait out the time that an expensive snapshot serves, so that a reader of it does not spin."""
        now = time.monotonic()
        serves = min(found.made_at + found.serves_s, ends) - now
        if serves > 0:
            await asyncio.sleep(serves)

    async def _snapshot(self, queue: QueueKey) -> _Snapshot:
        lock = self._making.setdefault(queue, asyncio.Lock())
        try:
            async with lock:
                await self._settle(queue)
                revision = await self._revisions.known(queue)
                kept = self._kept.get(queue)
                if kept is not None and self._serves(queue, kept, revision):
                    return kept
                return await self._make(queue, revision)
        finally:
            if not lock.locked() and self._making.get(queue) is lock:
                del self._making[queue]

    def _serves(self, queue: QueueKey, kept: _Snapshot, revision: int | None) -> bool:
        age, lasted = self._clock.steady() - kept.as_of, time.monotonic() - kept.made_at
        same = kept.revision == revision and not self._bells.moved(change_topic(queue), kept.cursor)
        return (same and 0 <= age <= _SAME_S and lasted <= _SAME_S) or lasted < kept.serves_s

    async def _make(self, queue: QueueKey, revision: int | None) -> _Snapshot:
        began, now, cursor = time.monotonic(), self._clock.steady(), self._bells.cursor(change_topic(queue))
        counted = await self._counts.of_queue(queue, now)
        tally = await self._statistics.read(queue)
        signals: dict[str, object] = {
            "queue": queue.name,
            "queued": counted.queued,
            "delayed": counted.delayed,
            "leased": counted.leased,
            "oldest_age_s": 0.0 if counted.oldest is None else max(0.0, now - counted.oldest),
            "arrived": tally.arrived,
            "finished": tally.finished,
            "mean_duration_s": tally.mean_duration_s,
            "as_of": now,
            "revision": int(now * 1000) if revision is None else revision,
        }
        ended = time.monotonic()
        many = counted.queued + counted.delayed + counted.leased >= _MANY_ROWS
        made = _Snapshot(signals, revision, cursor, now, ended, _SHARE * (ended - began) if many else 0.0)
        self._kept[queue] = made
        self._kept.move_to_end(queue)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return made
