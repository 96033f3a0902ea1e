"""What time does to rows: leases run out, deadlines pass, delays end; and what a lane is told of it."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.services.attempt_ends import expiry_of, grouped, overdue_of
from lakeshore_controlplane.services.placing import Placing, by_queue
from lakeshore_controlplane.services.submission import id_of
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.services.topics import change_topic, looked_up_rings, work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Claims

AT_A_TIME = 500
"""Rows that one look at leases or deadlines takes on."""


class Expiring:
    """Moves rows on whose time has come, each under a guard: any number of replicas may try at once."""

    def __init__(
        self, *, rows: Claims, placing: Placing, bells: Bells, clock: Clock, tallies: Tallies
    ) -> None:
        self._rows = rows
        self._placing = placing
        self._bells = bells
        self._clock = clock
        self._tallies = tallies

    async def settle(self, queue: QueueKey, ids: Sequence[str], cutoff_s: float = 0.0) -> None:
        """Look at ids that a lane handed out and that are not what it takes them for; put each where it belongs.

        A row whose deadline is within ``cutoff_s`` is ended: it may not start any more.
        """
        now = self._clock.steady()
        rows = {id_of(row): row for row in await self._rows.brief([f"{queue.namespace}/{i}" for i in ids])}
        live = {i: row for i, row in rows.items() if row["state"] in ("queued", "running")}
        await self._placing.drop(queue, [i for i in ids if i not in live])
        queued = [row for row in live.values() if row["state"] == "queued"]
        running = [row for row in live.values() if row["state"] == "running"]
        late = {row["_id"] for row in queued if row.get("deadlineAt", math.inf) <= now + cutoff_s}
        await self.end_overdue([row for row in queued if row["_id"] in late])
        await self._placing.push(queue, [row for row in queued if row["_id"] not in late])
        await self._hold_renewed(queue, [row for row in running if row.get("leaseUntil", 0.0) > now])
        await self.expire([row for row in running if row.get("leaseUntil", 0.0) <= now])

    async def settle_queue(self, queue: QueueKey, cutoff_s: float = 0.0) -> None:
        """Do the same by asking the rows, for a queue without a lane."""
        now = self._clock.steady()
        await self.expire(await self._rows.expired(now, AT_A_TIME, queue))
        await self.end_overdue(await self._rows.overdue(now + cutoff_s, AT_A_TIME, queue))

    async def settle_all(self) -> int:
        """Do the same for every queue; how many rows there were to look at."""
        now = self._clock.steady()
        expired = await self._rows.expired(now, AT_A_TIME)
        await self.expire(expired)
        overdue = await self._rows.overdue(now, AT_A_TIME)
        await self.end_overdue(overdue)
        return len(expired) + len(overdue)

    async def expire(self, rows: Sequence[Invocation]) -> None:
        """Queue rows again whose leases ran out, or end them as poison when they took too many workers down."""
        if not rows:
            return
        now, stamp = self._clock.steady(), uuid.uuid4().hex
        changes = grouped([expiry_of(row, now, stamp) for row in rows])
        ended = {key for change in changes if change.sets["state"] != "queued" for key in change.keys}
        await self._placing.expect([row for row in rows if row["_id"] not in ended])
        done = await self._rows.apply(changes)
        self._tallies.lease_expiries += len(done)
        await self._tell([row for row in rows if row["_id"] in done & ended])
        await self._queue_again([row for row in rows if row["_id"] in done - ended])

    async def end_overdue(self, rows: Sequence[Invocation]) -> None:
        """End rows whose deadline passed before they could start."""
        if not rows:
            return
        now, stamp = self._clock.steady(), uuid.uuid4().hex
        done = await self._rows.apply(grouped([overdue_of(row, now, stamp) for row in rows]))
        self._tallies.deadline_ends += len(done)
        await self._tell([row for row in rows if row["_id"] in done])

    async def _hold_renewed(self, queue: QueueKey, rows: Sequence[Invocation]) -> None:
        if rows:
            until = min(row.get("leaseUntil", 0.0) for row in rows)
            await self._placing.hold(queue, [id_of(row) for row in rows], until)

    async def _queue_again(self, rows: Sequence[Invocation]) -> None:
        for queue, group in by_queue(rows).items():
            await self._placing.push(queue, [{**row, "dueAt": row.get("leaseUntil", 0.0)} for row in group])
            self._bells.ring([Ring(work_topic(queue)), Ring(change_topic(queue))])

    async def _tell(self, rows: Sequence[Invocation]) -> None:
        for queue, group in by_queue(rows).items():
            ids = [id_of(row) for row in group]
            await self._placing.drop(queue, ids)
            self._bells.ring([*looked_up_rings(queue.namespace, ids), Ring(change_topic(queue))])
