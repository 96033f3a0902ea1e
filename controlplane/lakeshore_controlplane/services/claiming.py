"""Claiming: the lane says which rows to try, one guarded update leases them, and what does not match is settled."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import QUEUE_KINDS, Invocation
from lakeshore_controlplane.faults import BadRequest, StoreUnavailable
from lakeshore_controlplane.services.claiming_from_rows import RowClaims
from lakeshore_controlplane.services.expiring import Expiring
from lakeshore_controlplane.services.holdings import Holdings
from lakeshore_controlplane.services.leasing import check_lease
from lakeshore_controlplane.services.placing import LONGEST_HOLD_S, Placing
from lakeshore_controlplane.services.queue_book import QueueBook, undeclared
from lakeshore_controlplane.services.submission import id_of
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.services.topics import change_topic, work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import Lane, LaneDownError, QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Claims, Lease

_ROUNDS = 64
"""Times that one claim asks the lane: a bound on how many stale places it clears away."""
_LOOK_S = 3.0
"""Seconds between looks at the rows of a queue whose lane is empty."""
_SHARE = 50
"""A look that took t seconds is not repeated before this many times t have passed."""
_LOOK_AT = 500


@dataclass(frozen=True, slots=True)
class Ask:
    """What one claim wants of a queue, all defaults filled in."""

    queue: QueueKey
    worker_id: str
    n: int
    kind: str
    temperature: float
    lease_s: float
    cutoff_s: float
    claim_id: str | None = None

    def lease(self, now: float) -> Lease:
        """Give the lease that begins now."""
        return Lease(self.worker_id, now, now + self.lease_s, now + self.cutoff_s, self.claim_id)


class Claiming:
    """Hands out attempts: each to one worker, in the order of the queue's kind."""

    def __init__(
        self,
        *,
        rows: Claims,
        lane: Lane,
        placing: Placing,
        expiring: Expiring,
        queues: QueueBook,
        bells: Bells,
        clock: Clock,
        tallies: Tallies,
        holdings: Holdings | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """``holdings``: where to note what was leased, for those who take reports of it."""
        self._holdings = holdings
        self._rows = rows
        self._lane = lane
        self._placing = placing
        self._expiring = expiring
        self._queues = queues
        self._bells = bells
        self._clock = clock
        self._tallies = tallies
        self._bypass = RowClaims(rows=rows, expiring=expiring, rng=rng or random.Random())  # noqa: S311
        self._look_at: dict[QueueKey, float] = {}

    async def claim(
        self,
        namespace: str,
        name: str,
        worker_id: str,
        n: int,
        *,
        lease_s: float | None,
        kind: str | None = None,
        temperature: float | None = None,
        claim_id: str | None = None,
    ) -> list[Invocation]:
        """Lease up to ``n`` rows and give them whole. ``lease_s`` None: the queue's for clients that cannot renew.

        ``claim_id``: the worker's name for this claim, see ``Leasing.hand_out_again``. A queue that is not active
        gives nothing. Raises ``BadRequest`` for an unknown kind and odd numbers.
        """
        ask = await self._parse(
            QueueKey(namespace, name),
            worker_id,
            n,
            lease_s=lease_s,
            kind=kind,
            temperature=temperature,
            claim_id=claim_id,
        )
        if ask is None:
            return []
        rows: list[Invocation] = []
        try:
            await self._fill(ask, rows)
        except (LaneDownError, StoreUnavailable):
            if not rows:  # what is leased is handed out; the rest can wait
                raise
        if rows:
            self._tallies.claimed += len(rows)
            if self._holdings is not None:
                self._holdings.add(rows)
            self._bells.ring([Ring(change_topic(ask.queue))])
        return rows

    async def _parse(
        self,
        queue: QueueKey,
        worker_id: str,
        n: int,
        *,
        lease_s: float | None,
        kind: str | None,
        temperature: float | None,
        claim_id: str | None,
    ) -> Ask | None:
        found = await self._queues.peek(queue)
        record = found or undeclared(queue, 0.0)
        kind = record["kind"] if kind is None else kind
        if kind not in QUEUE_KINDS:
            raise BadRequest(f"queue kind {kind!r}: use one of {', '.join(QUEUE_KINDS)}")
        if temperature is None:
            temperature = _number(record["kindParams"].get("temperature"), 1.0)
        if not (math.isfinite(temperature) and temperature > 0):
            raise BadRequest(f"temperature {temperature!r}: use a finite number above 0 (1.0 is usual)")
        lease_s = record["legacyLeaseS"] if lease_s is None else lease_s
        check_lease(lease_s)
        if n < 1 or found is None or record["state"] != "active":
            return None  # a queue without a document has no rows: its first submission makes it
        cutoff_s = _number(record["admission"].get("deadline_cutoff_s"), 0.0)
        return Ask(queue, worker_id, n, kind, temperature, lease_s, cutoff_s, claim_id)

    async def _fill(self, ask: Ask, rows: list[Invocation]) -> None:
        """Add up to ``ask.n`` leased rows."""
        try:
            if await self._from_lane(ask, rows):
                return
        except LaneDownError:
            self._placing.doubtful.add(ask.queue)
            await self._from_rows(ask, rows)
        else:
            await self._from_rows(ask, rows)
            self._placing.refill_soon(ask.queue)

    async def _from_rows(self, ask: Ask, rows: list[Invocation]) -> None:
        if len(rows) < ask.n:
            now = self._clock.steady()
            found = await self._bypass.claim(ask.queue, ask, ask.n - len(rows), now)
            rows += found
            await self._placing.hold(ask.queue, [id_of(row) for row in found], now + ask.lease_s)

    async def _from_lane(self, ask: Ask, rows: list[Invocation]) -> bool:
        """Add rows that the lane names; False when it is cold."""
        for _ in range(_ROUNDS):
            now, missing = self._clock.steady(), ask.n - len(rows)
            taken = await self._lane.take(
                ask.queue,
                missing,
                kind=ask.kind,
                temperature=ask.temperature,
                now=now,
                held_until=now + min(ask.lease_s, LONGEST_HOLD_S),
            )
            if taken.expired:
                # What comes back may be before what was popped: put all in its place and take again.
                await self._expiring.settle(ask.queue, [*taken.expired, *taken.ids], ask.cutoff_s)
            elif taken.cold:
                return False
            elif taken.ids:
                rows += await self._lease(ask, taken.ids, now)
                if len(rows) >= ask.n or len(taken.ids) < missing:
                    return True
            elif rows or not await self._find_lost(ask.queue):
                return True
        self._bells.ring([Ring(work_topic(ask.queue))])  # there is more to clear away: ask again at once
        return True

    async def _lease(self, ask: Ask, ids: Sequence[str], now: float) -> list[Invocation]:
        keys = [f"{ask.queue.namespace}/{inv_id}" for inv_id in ids]
        rows = await self._rows.lease(keys, ask.lease(now))
        if len(rows) < len(ids):
            got = {row["_id"] for row in rows}
            odd = [inv_id for inv_id, key in zip(ids, keys, strict=True) if key not in got]
            await self._expiring.settle(ask.queue, odd, ask.cutoff_s)
        return rows

    async def _find_lost(self, queue: QueueKey) -> bool:
        """Ask the rows, now and then, for some that an empty lane lacks; whether there were any."""
        began = time.monotonic()
        if began < self._look_at.get(queue, 0.0):
            return False
        self._look_at[queue] = began + _LOOK_S
        lost = await self._rows.due(queue, self._clock.steady(), _LOOK_AT)
        took = time.monotonic() - began
        self._look_at[queue] = began + max(_LOOK_S, _SHARE * took)
        await self._placing.push(queue, lost)
        self._tallies.lane_repairs += len(lost)
        return bool(lost)


def _number(value: object, default: float) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return default
