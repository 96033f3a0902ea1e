"""Cancelling: what has not ended ends as ``killed``."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.services.attempt_ends import cancel_of
from lakeshore_controlplane.services.placing import Placing, by_queue
from lakeshore_controlplane.services.submission import id_of
from lakeshore_controlplane.services.topics import Outcome, change_topic, done_rings, work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.mongo.claims_port import Claims

_LIVE = ("queued", "running")


class Cancelling:
    """Ends queued and running invocations for good; workers find out that they lost them."""

    def __init__(self, *, rows: Claims, placing: Placing, bells: Bells, clock: Clock) -> None:
        self._rows = rows
        self._placing = placing
        self._bells = bells
        self._clock = clock

    async def cancel(self, namespace: str, ids: Sequence[str]) -> list[str]:
        """Cancel; the ids of those that this call ended, in their order."""
        stamp, now = uuid.uuid4().hex, self._clock.steady()
        wanted = [*dict.fromkeys(ids)]
        if len(wanted) == 1:
            row = await self._rows.apply_one(cancel_of((f"{namespace}/{wanted[0]}",), now, stamp))
            rows = [] if row is None else [row]
        else:
            found = await self._rows.brief([f"{namespace}/{inv_id}" for inv_id in wanted])
            live = {row["_id"]: row for row in found if row["state"] in _LIVE}
            done = await self._rows.apply([cancel_of(tuple(live), now, stamp)] if live else [])
            rows = [row for key, row in live.items() if key in done]
        await self._tell(rows)
        cancelled = {id_of(row) for row in rows}
        return [inv_id for inv_id in wanted if inv_id in cancelled]

    async def _tell(self, rows: Sequence[Invocation]) -> None:
        for queue, group in by_queue(rows).items():
            await self._placing.drop(queue, [id_of(row) for row in group])
            ended = [Outcome(id_of(row), "killed", row["attempt"]) for row in group]
            # Workers look at what they hold when work is taken away.
            rings = [Ring(work_topic(queue)), Ring(change_topic(queue))]
            self._bells.ring([*done_rings(queue.namespace, ended), *rings])
