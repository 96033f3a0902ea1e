"""Admission: a queue takes in no more rows than its ``max_depth`` and its ``rate_limit`` let it.

Room is reserved in one guarded update of the queue's admission document before rows are stored, and the reservation is
settled after. Claims do not touch the document, so its depth only ever is too high: who finds the queue full has it
recounted from the rows. A crash between the two leaves a reservation that ends after a minute.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.services.recounting import Recounting
from lakeshore_controlplane.services.room import Limits, Room, refusal_of, room_in, wish_of
from lakeshore_controlplane.services.topics import change_topic
from lakeshore_controlplane.store.bells.port import Bells
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.admission import AdmissionRows
from lakeshore_controlplane.store.mongo.invocations import InvocationRows

_log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 1.0
_LOOK_AGAIN_DEGRADED_S = 0.25
_TRUSTED_S = 60.0
"""Seconds after which the depth is recounted in any case: rows that came while there was no limit are not in it."""
_TRIES = 20
_KEPT = 4_096

LimitsNow: TypeAlias = Callable[[], Awaitable[Limits]]
"""Gives the queue's limits as they are now; raises ``QueueUnavailable`` when it takes no work."""


class Grant(NamedTuple):
    """Leave to store the first ``n`` rows of those asked for."""

    queue: QueueKey
    n: int
    reservation: str | None = None
    paid_s: float = 0.0


class _Ask(NamedTuple):
    queue: QueueKey
    ids: Sequence[str]
    limits_now: LimitsNow
    whole: bool

    @property
    def least(self) -> int:
        return len(self.ids) if self.whole else 1


class _Trust(NamedTuple):
    max_depth: int
    until: float


class Admission:
    """Grants room in queues. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, *, books: AdmissionRows, rows: InvocationRows, bells: Bells, clock: Clock) -> None:
        self._books = books
        self._bells = bells
        self._clock = clock
        self._recounting = Recounting(books=books, rows=rows, clock=clock)
        self._trusted: OrderedDict[QueueKey, _Trust] = OrderedDict()
        self._lines: MutableMapping[QueueKey, asyncio.Lock] = WeakValueDictionary()

    async def enter(
        self, queue: QueueKey, ids: Sequence[str], limits_now: LimitsNow, *, whole: bool, wait_s: float
    ) -> Grant:
        """Take room for these rows, or for the first ones that fit unless they want it ``whole``.

        A queue whose ``on_full`` is ``block`` lets its submitters wait up to ``wait_s`` for room, in line.
        Raises ``QueueFull``, ``RateLimited``, and what ``limits_now`` raises.
        """
        limits = await limits_now()
        if not limits.any:
            self._trusted.pop(queue, None)
            return Grant(queue, len(ids))
        line = self._lines.setdefault(queue, asyncio.Lock())
        if limits.waits and wait_s > 0:
            return await self._wait_in_line(_Ask(queue, ids, limits_now, whole), line, wait_s)
        # Nobody gets ahead of those who wait.
        found = Room(0) if line.locked() else await self._try(queue, ids, limits, whole)
        if isinstance(found, Room):
            raise refusal_of(queue.name, limits, found, len(ids) if whole else 1)
        return found

    async def _wait_in_line(self, ask: _Ask, line: asyncio.Lock, wait_s: float) -> Grant:
        """Wait for room behind those who came before; only the first in line looks for it."""
        ends = asyncio.get_running_loop().time() + wait_s
        try:
            async with asyncio.timeout_at(ends):
                await line.acquire()
        except TimeoutError:
            raise refusal_of(ask.queue.name, await ask.limits_now(), Room(0), ask.least) from None
        bell = self._bells.subscribe(change_topic(ask.queue))
        try:
            while True:  # look after subscribing, so that a claim in between is not missed
                limits = await ask.limits_now()
                found = await self._try(ask.queue, ask.ids, limits, ask.whole)
                if isinstance(found, Grant):
                    return found
                left_s = ends - asyncio.get_running_loop().time()
                hopeless = found.paid_in_s > left_s or ask.least > limits.most_at_once
                if left_s <= 0 or hopeless or not limits.waits:
                    raise refusal_of(ask.queue.name, limits, found, ask.least)
                await bell.wait(min(left_s, self._pause_s(found)))
        finally:
            bell.close()
            line.release()

    async def settle(self, grant: Grant, used: int) -> None:
        """Say how many rows of the grant were stored. Never raises: what is not settled ends after a minute."""
        unused = grant.n - used
        paid_s = grant.paid_s * unused / grant.n if grant.n else 0.0
        try:
            if grant.reservation is None:
                if paid_s:
                    await self._books.pay_back(grant.queue, paid_s)
                return
            held = await self._books.settle(grant.queue, grant.reservation, unused=unused, paid_s=paid_s)
            if not held and used:  # taken for dead: the rows that came after all are counted again
                await self._books.add(grant.queue, used)
        except StoreUnavailable:
            _log.warning("a reservation in queue %s is left to end by itself", grant.queue)

    async def returning(self, queue: QueueKey, n: int) -> None:
        """Count rows that are about to be queued again (a retry, a lost lease, a claim handed back).

        They are never refused. Call it before the update that queues them, so that the depth never is too low. A
        queue without ``max_depth`` need not be told of.
        """
        await self._books.add(queue, n)

    async def close(self) -> None:
        """End what still counts."""
        await self._recounting.close()

    async def _try(self, queue: QueueKey, ids: Sequence[str], limits: Limits, whole: bool) -> Grant | Room:
        """Take what there is now, after a recount where the queue looks full."""
        least = len(ids) if whole else 1
        if not limits.any:
            return Grant(queue, len(ids))
        if least > limits.most_at_once:
            return Room(0)
        await self._be_counted(queue, limits)
        found = await self._take(queue, ids, limits, least)
        if isinstance(found, Grant) or found.paid_in_s or limits.max_depth is None:
            return found
        depth = await self._recounting.fresh(queue)
        if limits.max_depth - depth < least:
            return Room(max(0, limits.max_depth - depth))
        return await self._take(queue, ids, limits, least)

    async def _take(self, queue: QueueKey, ids: Sequence[str], limits: Limits, least: int) -> Grant | Room:
        """Take as much as the document has room for."""
        n = int(min(len(ids), limits.most_at_once))
        room = Room(0)
        for _ in range(_TRIES):  # each time that room is seen and not got, somebody else got it
            if (grant := await self._reserve(queue, tuple(ids[:n]), limits)) is not None:
                return grant
            book = await self._books.read(queue)
            if book is None:
                await self._recounting.fresh(queue)
                continue
            room = room_in(limits, book, self._clock.steady(), least)
            if room.rows < least:
                break
            n = min(n, room.rows)
        return room

    async def _reserve(self, queue: QueueKey, ids: tuple[str, ...], limits: Limits) -> Grant | None:
        reservation = secrets.token_hex(8)
        wish = wish_of(limits, ids, self._clock.steady())
        if not await self._books.reserve(queue, reservation, wish):
            return None
        held = reservation if limits.max_depth is not None else None
        return Grant(queue, len(ids), held, wish.pay_s)

    async def _be_counted(self, queue: QueueKey, limits: Limits) -> None:
        """Have the depth recounted before it is relied on, when this replica does not know how good it is."""
        if limits.max_depth is None:
            self._trusted.pop(queue, None)
            return
        trust, now = self._trusted.get(queue), self._clock.steady()
        if trust is not None and trust.max_depth == limits.max_depth and now < trust.until:
            return
        await self._recounting.fresh(queue)
        self._trusted[queue] = _Trust(limits.max_depth, now + _TRUSTED_S)
        self._trusted.move_to_end(queue)
        while len(self._trusted) > _KEPT:
            self._trusted.popitem(last=False)

    def _pause_s(self, room: Room) -> float:
        longest = _LOOK_AGAIN_DEGRADED_S if self._bells.degraded else _LOOK_AGAIN_S
        return min(longest, room.paid_in_s) if room.paid_in_s else longest
