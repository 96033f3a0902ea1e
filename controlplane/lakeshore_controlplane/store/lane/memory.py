"""A lane in the memory of one process: for ``lakeshore server --embedded`` and where no Redis is configured."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from lakeshore_controlplane.store.lane.boltzmann import SEEDS
from lakeshore_controlplane.store.lane.memory_queue import MemoryQueue
from lakeshore_controlplane.store.lane.place import bounded_temperature, place
from lakeshore_controlplane.store.lane.port import Entry, LaneSizes, Outlook, QueueKey, Taken


class MemoryLane:
    """A ``Lane`` that never is down, and is cold when its process begins."""

    def __init__(self, *, rng: random.Random | None = None) -> None:
        """``rng`` seeds the boltzmann draws."""
        self._queues: defaultdict[QueueKey, MemoryQueue] = defaultdict(MemoryQueue)
        self._rng = rng or random.Random()  # noqa: S311 - a draw of odds, not a secret

    async def push(self, queue: QueueKey, entries: Sequence[Entry]) -> None:
        """Put rows in. See ``Lane.push``."""
        if entries:
            self._queues[queue].push({entry.id: place(entry) for entry in entries}.values())

    async def take(
        self,
        queue: QueueKey,
        n: int,
        *,
        kind: str,
        temperature: float,
        now: float,
        held_until: float,
    ) -> Taken:
        """Pop in order. See ``Lane.take``."""
        held = self._queues[queue]
        seed = self._rng.choice(SEEDS)
        expired = held.expire(now)
        moved, ids = len(expired), []
        if held.warm:
            moved += held.let_in(now)
            ids = held.pop(n, kind, bounded_temperature(temperature), seed, held_until)
        if moved + len(ids):
            held.revision(advance=True)
        return Taken(ids, expired, not held.warm)

    async def hold(self, queue: QueueKey, ids: Iterable[str], until: float) -> None:
        """Hold ids. See ``Lane.hold``."""
        self._queues[queue].hold(ids, until)

    async def drop(self, queue: QueueKey, ids: Iterable[str]) -> None:
        """Forget ids. See ``Lane.drop``."""
        if ids := list(ids):
            self._queues[queue].drop(ids)

    async def next_due(self, queue: QueueKey) -> float | None:
        """The nearest time. See ``Lane.next_due``."""
        return self._queues[queue].next_due()

    async def sizes(self, queue: QueueKey) -> LaneSizes:
        """Count each sort. See ``Lane.sizes``."""
        return self._queues[queue].sizes()

    async def is_warm(self, queue: QueueKey) -> bool:
        """Say whether the queue was filled. See ``Lane.is_warm``."""
        return self._queues[queue].warm

    async def outlook(self, queue: QueueKey) -> Outlook:
        """Warmth and the nearest time. See ``Lane.outlook``."""
        return Outlook(await self.is_warm(queue), self._queues[queue].next_due())

    async def begin_refill(self, queue: QueueKey, owner: str, ttl_s: float) -> bool:
        """Become the one who refills. See ``Lane.begin_refill``."""
        return self._queues[queue].begin_refill(owner, ttl_s)

    async def end_refill(self, queue: QueueKey, owner: str) -> None:
        """Become warm. See ``Lane.end_refill``."""
        self._queues[queue].end_refill(owner)

    async def forget(self, queue: QueueKey) -> None:
        """Drop everything. See ``Lane.forget``."""
        self._queues.pop(queue, None)

    async def revision(self, queue: QueueKey, *, advance: bool = False) -> int:
        """The revision number. See ``Lane.revision``."""
        return self._queues[queue].revision(advance=advance)

    async def close(self) -> None:
        """Nothing to release."""
