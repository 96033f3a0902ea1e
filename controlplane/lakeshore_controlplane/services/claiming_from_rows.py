"""Claims that bypass the lane: while it is cold, or its server is down, the rows themselves are asked for the order."""

from __future__ import annotations

import random
from typing import Protocol

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.services.drawing import draw_levels
from lakeshore_controlplane.services.expiring import Expiring
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Claims, Lease

_ROUNDS = 5


class Wanted(Protocol):
    """What a claim wants."""

    @property
    def kind(self) -> str:
        """The order of the queue."""

    @property
    def temperature(self) -> float:
        """Of a boltzmann queue, in units of priority."""

    @property
    def cutoff_s(self) -> float:
        """A row whose deadline is nearer than this is ended."""

    def lease(self, now: float) -> Lease:
        """Give the lease that begins now."""


class RowClaims:
    """Slower than a lane, in the same order, and right without one."""

    def __init__(self, *, rows: Claims, expiring: Expiring, rng: random.Random) -> None:
        """``rng`` seeds the boltzmann draws."""
        self._rows = rows
        self._expiring = expiring
        self._rng = rng

    async def claim(self, queue: QueueKey, wanted: Wanted, n: int, now: float) -> list[Invocation]:
        """Lease up to ``n`` rows, after bringing the queue up to date."""
        await self._expiring.settle_queue(queue, wanted.cutoff_s)
        lease = wanted.lease(now)
        newest = wanted.kind == "filo"
        if n == 1 and wanted.kind != "boltzmann":
            row = await self._rows.lease_next(queue, lease, newest=newest)
            return [] if row is None else [row]
        found: list[Invocation] = []
        for _ in range(_ROUNDS):
            left = n - len(found)
            if wanted.kind == "boltzmann":
                keys = await self._drawn(queue, left, lease, wanted.temperature)
            else:
                keys = await self._rows.startable(queue, left, lease, newest=newest)
            if keys:
                found += await self._rows.lease(keys, lease)
            # Others may have been quicker; then there may be more.
            if len(keys) < left or len(found) >= n:
                break
        return found

    async def _drawn(self, queue: QueueKey, n: int, lease: Lease, temperature: float) -> list[str]:
        """Draw a level for each place, then take the oldest of each level in the order of the draws."""
        draws = draw_levels(await self._rows.levels(queue, lease), temperature, n, self._rng)
        oldest = {
            level: iter(await self._rows.startable(queue, draws.count(level), lease, level=level))
            for level in dict.fromkeys(draws)
        }
        found = [next(oldest[level], None) for level in draws]
        return [key for key in found if key is not None]
