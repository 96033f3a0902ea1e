"""Recounting a queue's depth from its rows: when it looks full, and from time to time.

A reservation younger than a minute may still become rows: it counts with all of them, and those of its rows that
are there already are left out of the count. An older one was left by a replica that died: what became of its rows
says the count.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.admission import AdmissionRows
from lakeshore_controlplane.store.mongo.invocations import InvocationRows, RowFilter

PENDING_S = 60.0
"""Seconds for which a reservation is believed to become rows."""

_PAUSE_S = 0.05
_SHARE = 4.0
"""A recount is followed by a pause of this many times its duration, so that a deep queue is not counted all day."""
_TRIES = 4
_KEPT = 4_096


class _Turn:
    """One queue's recounts on this replica: one at a time; who asks shares the next one to begin."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.next: asyncio.Task[int] | None = None
        self.not_before = 0.0


class Recounting:
    """Corrects depths. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, *, books: AdmissionRows, rows: InvocationRows, clock: Clock) -> None:
        self._books = books
        self._rows = rows
        self._clock = clock
        self._turns: OrderedDict[QueueKey, _Turn] = OrderedDict()

    async def fresh(self, queue: QueueKey) -> int:
        """Give the depth by a recount that began later than this call; all who wait share it."""
        turn = self._turns.setdefault(queue, _Turn())
        self._turns.move_to_end(queue)
        self._forget_idle()
        if turn.next is None:
            turn.next = asyncio.create_task(self._next(queue, turn))
            turn.next.add_done_callback(_retrieve)
        return await asyncio.shield(turn.next)

    async def close(self) -> None:
        """End what still counts."""
        tasks = [turn.next for turn in self._turns.values() if turn.next is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _next(self, queue: QueueKey, turn: _Turn) -> int:
        loop = asyncio.get_running_loop()
        async with turn.lock:
            try:
                await asyncio.sleep(max(0.0, turn.not_before - loop.time()))
            finally:
                turn.next = None
            began = loop.time()
            depth = await self._recount(queue)
            took = loop.time() - began
            turn.not_before = loop.time() + max(_PAUSE_S, _SHARE * took)
            return depth

    async def _recount(self, queue: QueueKey) -> int:
        depth = 0
        for _ in range(_TRIES):
            book = await self._books.read(queue)
            if book is None:
                await self._books.open(queue, await self._count(queue, []))
                continue
            oldest = self._clock.steady() - PENDING_S
            ended = [reservation for reservation, held in book.pending.items() if held.at < oldest]
            hoped = [inv_id for held in book.pending.values() if held.at >= oldest for inv_id in held.ids]
            depth = await self._count(queue, hoped) + len(hoped)
            if await self._books.correct(queue, book.version, depth, ended):
                break
        return depth

    async def _count(self, queue: QueueKey, without: list[str]) -> int:
        queued = RowFilter(queue.name, "queued")
        return await self._rows.count(queue.namespace, queued, without=without)

    def _forget_idle(self) -> None:
        while len(self._turns) > _KEPT:
            queue, turn = next(iter(self._turns.items()))
            if turn.next is not None or turn.lock.locked():
                return
            del self._turns[queue]


def _retrieve(task: asyncio.Task[int]) -> None:
    """Take a failure that nobody may be waiting for any more."""
    if not task.cancelled():
        task.exception()
