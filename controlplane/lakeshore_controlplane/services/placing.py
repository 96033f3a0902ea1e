"""Rows and their places in lanes: put in, taken out, and a whole lane filled again from the rows."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.services.submission import id_of, queue_of
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.services.topics import work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import Entry, Lane, LaneDownError, QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Claims

LONGEST_HOLD_S = 60.0
"""No hold is longer, whatever the lease: what a lane got wrong comes up again after this time at the latest."""

_PAGE = 1_000
_REFILL_TTL_S = 30.0
_REFILL_RATE = 2_000
"""Rows a second that a refill does at the least: it is taken over by others only when it surely is dead."""
_ENDS_OF_A_PAGE = 50
_GATHER_S = 0.02
"""Seconds for which rows that ended gather before the lane forgets them."""
_log = logging.getLogger(__name__)


def entry_at(row: Invocation, now: float) -> Entry:
    """Give a queued row's place: waiting until its delay or its deadline ends, or ready."""
    due = row["dueAt"]
    at = min(due, row.get("deadlineAt", due)) if due > now else None
    return Entry(id_of(row), row["priority"], row["order"], at)


class Placing:
    """What services tell lanes. Lanes only give hints: one that is down is left alone, and looked after later."""

    def __init__(
        self,
        *,
        lane: Lane,
        rows: Claims,
        bells: Bells,
        clock: Clock,
        tallies: Tallies,
        returning: Callable[[QueueKey, int], Awaitable[None]] | None = None,
    ) -> None:
        """``returning(queue, n)`` is told before ``n`` rows are queued again, so that a queue's depth counts them."""
        self._lane = lane
        self._returning = returning
        self._rows = rows
        self._bells = bells
        self._clock = clock
        self._tallies = tallies
        self._ended: defaultdict[QueueKey, list[str]] = defaultdict(list)
        self._refilling: set[QueueKey] = set()
        self._tasks: set[asyncio.Task[object]] = set()
        self.doubtful: set[QueueKey] = set()
        """Queues whose lane missed something while it was down: it may be warm and wrong when it comes back."""

    async def expect(self, rows: Iterable[Invocation]) -> None:
        """Say that rows are about to be queued again."""
        if self._returning is not None:
            for queue, group in by_queue(rows).items():
                await self._returning(queue, len(group))

    async def push(self, queue: QueueKey, rows: Iterable[Invocation]) -> None:
        """Put queued rows at their places."""
        now = self._clock.steady()
        entries = [entry_at(row, now) for row in rows]
        try:
            if entries:
                await self._lane.push(queue, entries)
        except LaneDownError:
            self.doubtful.add(queue)

    async def hold(self, queue: QueueKey, ids: Sequence[str], until: float) -> None:
        """Hold rows that run, at most for ``LONGEST_HOLD_S``."""
        try:
            if ids:
                await self._lane.hold(queue, ids, min(until, self._clock.steady() + LONGEST_HOLD_S))
        except LaneDownError:
            self.doubtful.add(queue)

    async def drop(self, queue: QueueKey, ids: Sequence[str]) -> None:
        """Forget rows."""
        try:
            if ids:
                await self._lane.drop(queue, ids)
        except LaneDownError:
            self.doubtful.add(queue)

    def drop_soon(self, queue: QueueKey, ids: Iterable[str]) -> None:
        """Forget rows that ended, without waiting for it; many such calls become few."""
        busy = queue in self._ended
        self._ended[queue].extend(ids)
        if not busy:
            self._begin(self._drop_ended(queue))

    async def drop_now(self, queue: QueueKey) -> None:
        """Let the lane forget what ``drop_soon`` was given: its revision then tells of those ends too."""
        if ids := self._ended.pop(queue, None):
            await self.drop(queue, ids)

    def refill_soon(self, queue: QueueKey) -> None:
        """Fill a cold lane in the background, once at a time."""
        if queue not in self._refilling:
            self._begin(self._refill_quietly(queue))

    async def refill(self, queue: QueueKey) -> bool:
        """Fill a lane from the rows and mark it warm; False when somebody else does it now."""
        if queue in self._refilling:
            return False
        owner = uuid.uuid4().hex
        self._refilling.add(queue)
        try:
            ttl_s = _REFILL_TTL_S + await self._rows.count_queued(queue) / _REFILL_RATE
            if not await self._lane.begin_refill(queue, owner, ttl_s):
                return False
            async for page in self._rows.walk(queue, _PAGE):
                await self._fill(queue, page)
            await self._lane.end_refill(queue, owner)
        finally:
            self._refilling.discard(queue)
        self.doubtful.discard(queue)
        self._tallies.refills += 1
        self._bells.ring([Ring(work_topic(queue))])
        return True

    async def close(self) -> None:
        """Let what runs in the background end, for at most 2 s; then stop it."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=2.0)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=2.0)

    async def _fill(self, queue: QueueKey, page: list[Invocation]) -> None:
        await self._put(queue, page)
        # What moved since the page was read may have been told to the lane before the page was.
        read = {row["_id"]: _moves_with(row) for row in page}
        found = {row["_id"]: row for row in await self._rows.brief([*read])}
        await self._put(queue, [row for key, row in found.items() if _moves_with(row) != read[key]])
        over = [id_of(row) for row in page if row["_id"] not in found or not _is_live(found[row["_id"]])]
        if over:
            await self._lane.drop(queue, over)

    async def _put(self, queue: QueueKey, rows: list[Invocation]) -> None:
        now = self._clock.steady()
        for until, ids in _by_end([row for row in rows if row["state"] == "running"]).items():
            await self._lane.hold(queue, ids, min(until, now + LONGEST_HOLD_S))
        entries = [entry_at(row, now) for row in rows if row["state"] == "queued"]
        if entries:
            await self._lane.push(queue, entries)

    async def _refill_quietly(self, queue: QueueKey) -> None:
        try:
            await self.refill(queue)
        except (LaneDownError, StoreUnavailable) as exc:
            self.doubtful.add(queue)
            _log.info("the lane of %s is filled later: %s", queue, exc)

    async def _drop_ended(self, queue: QueueKey) -> None:
        try:
            await asyncio.sleep(_GATHER_S)
            while queue in self._ended:
                await self.drop_now(queue)
        finally:
            self._ended.pop(queue, None)

    def _begin(self, work: Coroutine[object, object, object]) -> None:
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def by_queue(rows: Iterable[Invocation]) -> dict[QueueKey, list[Invocation]]:
    """Group rows by their queue, in their order."""
    found: defaultdict[QueueKey, list[Invocation]] = defaultdict(list)
    for row in rows:
        found[QueueKey(row["namespaceId"], queue_of(row))].append(row)
    return found


def _is_live(row: Invocation) -> bool:
    return row["state"] in ("queued", "running")


def _moves_with(row: Invocation) -> tuple[object, ...]:
    """What a row's place depends on."""
    return row["state"], row["dueAt"], row.get("leaseUntil")


def _by_end(running: Sequence[Invocation]) -> dict[float, list[str]]:
    """Group running rows by the end of their lease; by 5 s, rounded down, where there are many ends."""
    ends = {row.get("leaseUntil", 0.0) for row in running}
    step = 5.0 if len(ends) > _ENDS_OF_A_PAGE else None
    found: defaultdict[float, list[str]] = defaultdict(list)
    for row in running:
        until = row.get("leaseUntil", 0.0)
        found[until if step is None else until // step * step].append(id_of(row))
    return found
