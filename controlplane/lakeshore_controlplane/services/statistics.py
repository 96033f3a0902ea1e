"""What ever happened on each queue: counted in the replica as it happens, written about once a second."""

from __future__ import annotations

import asyncio

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.statistics import Increment, StatisticsRows, Tally

_NOTHING = Increment()


class Statistics:
    """Tallies of all queues. A replica that dies loses what it counted since its last ``flush``, and nothing else."""

    def __init__(self, *, rows: StatisticsRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._counted: dict[QueueKey, Increment] = {}
        self._flushing = asyncio.Lock()

    def arrived(self, queue: QueueKey, n: int) -> None:
        """Count ``n`` new rows."""
        had = self._counted.get(queue, _NOTHING)
        self._counted[queue] = had._replace(arrived=had.arrived + n)

    def finished(self, queue: QueueKey, n: int, total_duration_s: float) -> None:
        """Count ``n`` successes, which ran so many seconds in all."""
        had = self._counted.get(queue, _NOTHING)
        self._counted[queue] = had._replace(
            finished=had.finished + n, duration_s=had.duration_s + total_duration_s
        )

    async def flush(self) -> None:
        """Write everything counted so far. After ``StoreUnavailable`` it is still counted: flush again later."""
        async with self._flushing:
            counted, self._counted = self._counted, {}
            await self._write(counted)

    async def read(self, queue: QueueKey) -> Tally:
        """Give the queue's tally with all that this replica counted, and what others wrote."""
        async with self._flushing:
            if queue in self._counted:
                await self._write({queue: self._counted.pop(queue)})
        return await self._rows.find(queue)

    async def _write(self, counted: dict[QueueKey, Increment]) -> None:
        if not counted:
            return
        try:
            await self._rows.add(counted, self._clock.steady())
        except BaseException:
            for queue, more in counted.items():
                self._restore(queue, more)
            raise

    def _restore(self, queue: QueueKey, more: Increment) -> None:
        self.arrived(queue, more.arrived)
        self.finished(queue, more.finished, more.duration_s)
