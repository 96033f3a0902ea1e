"""Leases: extended, handed back, and when the next one wants attention."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.services.attempt_ends import grouped, release_of
from lakeshore_controlplane.services.placing import Placing, by_queue
from lakeshore_controlplane.services.queue_book import QueueBook
from lakeshore_controlplane.services.submission import id_of
from lakeshore_controlplane.services.topics import change_topic, work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import Lane, LaneDownError, QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Claims


class Leasing:
    """What a worker may do with the leases that it holds."""

    def __init__(
        self,
        *,
        rows: Claims,
        lane: Lane,
        placing: Placing,
        queues: QueueBook,
        bells: Bells,
        clock: Clock,
        idle: Callable[[str, str], None],
    ) -> None:
        """``idle(namespace, worker)`` notes who handed something back."""
        self._rows = rows
        self._lane = lane
        self._placing = placing
        self._queues = queues
        self._bells = bells
        self._clock = clock
        self._idle = idle

    async def renew(self, namespace: str, worker_id: str, ids: Sequence[str], lease_s: float) -> list[str]:
        """Let leases end ``lease_s`` seconds from now; the ids of those that the worker does not hold.

        A lease whose time has passed is still held as long as nobody has taken the invocation from it.
        """
        check_lease(lease_s)
        wanted = [*dict.fromkeys(ids)]
        until = self._clock.steady() + lease_s
        held = await self._held(namespace, worker_id, wanted)
        # Held in the lane first: a row that is queued again at this moment is pushed after that, and stays pushed.
        for queue, rows in by_queue(held).items():
            await self._placing.hold(queue, [id_of(row) for row in rows], until)
        keys = [row["_id"] for row in held]
        if keys and await self._rows.renew(keys, worker_id, until) < len(keys):
            now_held = await self._held(namespace, worker_id, wanted)
            await self._give_back_places(keys, now_held)
            held = now_held
        kept = {id_of(row) for row in held}
        return [inv_id for inv_id in wanted if inv_id not in kept]

    async def release(
        self, namespace: str, worker_id: str, ids: Sequence[str], *, delay_s: float = 0.0
    ) -> int:
        """Hand back claims that were never started, with their attempt; how many were still the worker's.

        ``delay_s``: seconds that they wait while others run.
        """
        held = await self._held(namespace, worker_id, [*dict.fromkeys(ids)])
        return await self.take_back(held, delay_s=delay_s)

    async def take_back(self, held: Sequence[Invocation], *, delay_s: float = 0.0) -> int:
        """Do the same for rows as a worker's claim gave them, but for those that were handed out again since."""
        if not held:
            return 0
        stamp, due_at = uuid.uuid4().hex, self._clock.steady() + delay_s if delay_s > 0 else None
        await self._placing.expect(held)
        done = await self._rows.apply(grouped([release_of(row, stamp, due_at) for row in held]))
        for queue, rows in by_queue([row for row in held if row["_id"] in done]).items():
            await self._placing.push(
                queue, rows if due_at is None else [{**row, "dueAt": due_at} for row in rows]
            )
            self._bells.ring([Ring(work_topic(queue)), Ring(change_topic(queue))])
        if done:
            self._idle(held[0]["namespaceId"], held[0].get("workerId") or "")
        return len(done)

    async def hand_out_again(
        self, namespace: str, worker_id: str, claim_id: str, lease_s: float | None
    ) -> list[Invocation]:
        """Give the rows that a worker holds from its claim of that name, whole, under leases that begin now.

        What it gave back, ended or lost meanwhile is not among them. ``lease_s`` None: the leases stay as they are.
        """
        until = None
        if lease_s is not None:
            check_lease(lease_s)
            until = self._clock.steady() + lease_s
        found = await self._rows.lease_again(namespace, worker_id, claim_id, until)
        for queue, rows in by_queue(found).items():
            await self._placing.hold(queue, [id_of(row) for row in rows], rows[0].get("leaseUntil", 0.0))
        return sorted(found, key=lambda row: (-row["priority"], row["order"]))

    async def next_due(self, namespace: str, name: str) -> float | None:
        """Seconds until a delay, a deadline or a lease ends and wants a claim; None while the queue gives none."""
        queue = QueueKey(namespace, name)
        record = await self._queues.peek(queue)
        if record is None or record["state"] != "active":
            return None
        at = await self._next_time(queue)
        return None if at is None else max(0.0, at - self._clock.steady())

    async def _next_time(self, queue: QueueKey) -> float | None:
        try:
            found = await self._lane.outlook(queue)
            if found.warm:
                return found.next_due
        except LaneDownError:
            pass
        times = [at for at in await self._rows.times(queue, self._clock.steady()) if at is not None]
        return min(times, default=None)

    async def _held(self, namespace: str, worker_id: str, ids: Sequence[str]) -> list[Invocation]:
        found = await self._rows.brief([f"{namespace}/{inv_id}" for inv_id in ids])
        by_key = {
            row["_id"]: row for row in found if row["state"] == "running" and row.get("workerId") == worker_id
        }
        keys = [f"{namespace}/{inv_id}" for inv_id in ids]
        return [by_key[key] for key in keys if key in by_key]

    async def _give_back_places(self, keys: Sequence[str], held: Sequence[Invocation]) -> None:
        """Undo the holds of rows that were queued again or ended since they were read."""
        kept = {row["_id"] for row in held}
        rows = await self._rows.brief([key for key in keys if key not in kept])
        for queue, group in by_queue(rows).items():
            await self._placing.push(queue, [row for row in group if row["state"] == "queued"])
            ended = [id_of(row) for row in group if row["state"] not in ("queued", "running")]
            self._placing.drop_soon(queue, ended)


def check_lease(lease_s: float) -> None:
    """Raise ``BadRequest`` unless this many seconds can be a lease."""
    if not (math.isfinite(lease_s) and lease_s > 0):
        raise BadRequest(f"lease_s {lease_s!r}: use a finite number of seconds above 0")
