"""The sweeper: what no request does, done about once a second in every replica, without a leader."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import islice

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.services.expiring import AT_A_TIME, Expiring
from lakeshore_controlplane.services.placing import LONGEST_HOLD_S, Placing
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.store.lane.port import Lane, LaneDownError, QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Claims

_QUEUES_AT_A_TIME = 100
_LIST_S = 5.0
_LOOKS = 20
_CANCELS = 10
_BACKOFF_MOST_S = 15.0
_SHARE = 50
"""An audit that took t seconds is not repeated before this many times t have passed."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Audit:
    next_at: float = 0.0
    lacked: int = 0


class Sweeping:
    """Expires leases and deadlines, warms cold lanes, and puts rows back that a lane has lost."""

    def __init__(
        self,
        *,
        rows: Claims,
        lane: Lane,
        placing: Placing,
        expiring: Expiring,
        clock: Clock,
        tallies: Tallies,
        every_s: float = 1.0,
        audit_s: float = 5.0,
    ) -> None:
        """Sweep every ``every_s`` seconds (give or take a quarter), compare a lane with its rows every ``audit_s``."""
        self._rows = rows
        self._lane = lane
        self._placing = placing
        self._expiring = expiring
        self._clock = clock
        self._tallies = tallies
        self._every_s = every_s
        self._audit_s = audit_s
        self._audits: dict[QueueKey, _Audit] = {}
        self._queues: list[QueueKey] = []
        self._listed_at = -_LIST_S
        self._place = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = False

    async def start(self) -> None:
        """Sweep from now on."""
        if not self._tasks:
            self._stopped = False
            # Apart, so that no lease waits for a large lane to be filled.
            self._tasks = [
                asyncio.create_task(self._repeat(self._settle), name="sweeper of rows"),
                asyncio.create_task(self._repeat(self._sweep_lanes), name="sweeper of lanes"),
            ]

    async def stop(self) -> None:
        """Stop, at once; another replica or the next start goes on from the rows."""
        left, self._tasks = set(self._tasks), []
        self._stopped = True
        for _ in range(_CANCELS):
            if not left:
                return
            for task in left:
                task.cancel()
            # The database's driver may take a cancellation for a lost connection: say it again.
            _, left = await asyncio.wait(left, timeout=1.0)

    async def sweep_once(self) -> None:
        """Do all of it once. Raises ``StoreUnavailable`` when the database does not answer."""
        await self._settle()
        await self._sweep_lanes()

    async def _settle(self) -> None:
        for _ in range(_LOOKS):
            if await self._expiring.settle_all() < AT_A_TIME:
                return

    async def _sweep_lanes(self) -> None:
        for queue in await self._next_queues():
            try:
                await self._sweep_lane(queue)
            except LaneDownError:
                self._placing.doubtful.add(queue)
                return  # the claims go by the rows now

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        pause = self._every_s
        while not self._stopped:
            await asyncio.sleep(pause * random.uniform(0.75, 1.25))  # noqa: S311 - replicas out of step
            try:
                await work()
                pause = self._every_s
            except StoreUnavailable as exc:
                pause = min(2 * pause, _BACKOFF_MOST_S)
                _log.warning("the sweeper waits %.0f s: %s", pause, exc)
            except Exception:
                pause = min(2 * pause, _BACKOFF_MOST_S)
                _log.exception("the sweeper failed and goes on in %.0f s", pause)

    async def _next_queues(self) -> list[QueueKey]:
        """Give the next queues in turn; some of those in doubt are always among them."""
        if time.monotonic() - self._listed_at >= min(_LIST_S, self._audit_s):
            self._queues = sorted(await self._rows.queues())
            self._audits = {queue: self._audits[queue] for queue in self._queues if queue in self._audits}
            self._listed_at = time.monotonic()
        first = self._place if self._place < len(self._queues) else 0
        self._place = first + _QUEUES_AT_A_TIME
        doubtful = [*islice(self._placing.doubtful, _QUEUES_AT_A_TIME)]
        turn = [queue for queue in self._queues[first : self._place] if queue not in doubtful]
        return [*doubtful, *turn]

    async def _sweep_lane(self, queue: QueueKey) -> None:
        now = self._clock.steady()
        # Taking nothing lets delayed rows in and gives the holds that ran out.
        taken = await self._lane.take(
            queue, 0, kind="fifo", temperature=1.0, now=now, held_until=now + LONGEST_HOLD_S
        )
        if taken.expired:
            await self._expiring.settle(queue, taken.expired)
        if taken.cold or queue in self._placing.doubtful:
            await self._placing.refill(queue)
        else:
            await self._audit(queue)

    async def _audit(self, queue: QueueKey) -> None:
        """Compare the number of rows with the lane's; fill it again when it lacks some twice in a row."""
        audit = self._audits.setdefault(queue, _Audit())
        began = time.monotonic()
        if began < audit.next_at:
            return
        rows = await self._rows.count_queued(queue)
        sizes = await self._lane.sizes(queue)
        # Places are fewer for a moment while rows are claimed or on their way in: once is no loss.
        lacks = max(0, rows - sizes.ready - sizes.waiting)
        lost, audit.lacked = min(lacks, audit.lacked), lacks
        if lost and await self._placing.refill(queue):
            self._tallies.lane_repairs += lost
            audit.lacked = 0
        audit.next_at = began + max(self._audit_s, _SHARE * (time.monotonic() - began))
