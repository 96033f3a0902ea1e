"""From a batch of submissions to the rows that shall be stored: their queues, their trees, their order."""

from __future__ import annotations

from collections.abc import Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import Refusal, StoreUnavailable
from lakeshore_controlplane.services.lineage import Lineage
from lakeshore_controlplane.services.queue_book import QueueBook
from lakeshore_controlplane.services.submission import Moment, Submission, row_of
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.invocations import InvocationRows


class Planning:
    """Plans rows. One for each replica: it gives them their order."""

    def __init__(self, *, rows: InvocationRows, queues: QueueBook, clock: Clock) -> None:
        self._queues = queues
        self._clock = clock
        self._lineage = Lineage(rows)
        self._last_order = 0

    async def plan(self, namespace: str, submissions: Sequence[Submission]) -> list[Invocation | Refusal]:
        """Give each one's row, or what is wrong with it. Raises ``StoreUnavailable``."""
        roots = await self._lineage.roots(namespace, submissions)
        planned: list[Invocation | Refusal] = []
        fields: dict[str, str | None] = {}
        for item, root in zip(submissions, roots, strict=True):
            try:
                if item.queue not in fields:
                    fields[item.queue] = await self._priority_field(QueueKey(namespace, item.queue))
                planned.append(self._plan_one(namespace, item, root, fields[item.queue]))
            except StoreUnavailable:
                raise
            except Refusal as refusal:
                planned.append(refusal)
        return planned

    async def _priority_field(self, key: QueueKey) -> str | None:
        """Give the field of ``run_config`` that orders the queue, where it names one."""
        queue = await self._queues.get(key)
        field = queue["kindParams"].get("priority_field")
        return field if isinstance(field, str) and queue["kind"] == "priority" else None

    def _plan_one(self, namespace: str, item: Submission, root: str, field: str | None) -> Invocation:
        now = self._clock.steady()
        moment = Moment(now, self._clock.wall(), self._next_order(now))
        return row_of(namespace, item, moment, root=root, priority_field=field)

    def _next_order(self, now: float) -> int:
        """Give microseconds of plane time that only grow, so that a batch keeps its order."""
        self._last_order = max(self._last_order + 1, int(now * 1e6))
        return self._last_order
