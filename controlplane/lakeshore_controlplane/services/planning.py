"""From a batch of submissions to the rows that shall be stored: what that takes to look up, and to spill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import Refusal, StoreUnavailable
from lakeshore_controlplane.services.lineage import Lineage
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.queue_book import QueueBook
from lakeshore_controlplane.services.repeats import Answer
from lakeshore_controlplane.services.submission import Moment, Submission, Submitted, id_of, row_of
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.invocations import InvocationRows


class Planning:
    """Plans rows. Without ``payloads`` every argument stays in its row.

    Arguments that do not fit a row are in the blob store before their row is planned: a reference never dangles.
    """

    def __init__(
        self, *, rows: InvocationRows, queues: QueueBook, clock: Clock, payloads: Payloads | None
    ) -> None:
        self._queues = queues
        self._clock = clock
        self._payloads = payloads
        self._lineage = Lineage(rows)
        self._last_order = 0

    async def plan(self, namespace: str, submissions: Sequence[Submission]) -> list[Invocation | Refusal]:
        """Give each one's row, or what is wrong with it. Raises ``StoreUnavailable``."""
        roots = await self._lineage.roots(namespace, submissions)
        planned: list[Invocation | Refusal] = []
        for item, root in zip(submissions, roots, strict=True):
            try:
                planned.append(await self._plan_one(namespace, item, root))
            except StoreUnavailable:
                raise
            except Refusal as refusal:
                planned.append(refusal)
        return planned

    async def forget_unused(
        self, namespace: str, rows: Sequence[Invocation], told: Mapping[str, Answer]
    ) -> None:
        """Delete what was spilled for rows that an earlier one's key stands for.

        Nothing else may go: who was refused may be stored by the same request sent again, at this very moment.
        """
        if self._payloads is None:
            return
        refs = [row["argsRef"] for row in rows if "argsRef" in row and _another(told.get(row["_id"]), row)]
        if refs:
            await self._payloads.discard(namespace, refs)

    async def _plan_one(self, namespace: str, item: Submission, root: str) -> Invocation:
        queue = await self._queues.get(QueueKey(namespace, item.queue))
        field = queue["kindParams"].get("priority_field")
        moment = Moment(self._clock.steady(), self._clock.wall(), self._next_order())
        named = field if isinstance(field, str) and queue["kind"] == "priority" else None
        row = row_of(namespace, item, moment, root=root, priority_field=named)
        if self._payloads is not None:
            await self._spill(self._payloads, namespace, row)
        return row

    async def _spill(self, payloads: Payloads, namespace: str, row: Invocation) -> None:
        """Move large arguments out of the row; check that a payload which the client uploaded is there."""
        if "argsBlob" in row:
            stored = await payloads.spill_args(namespace, id_of(row), row["argsBlob"])
            if stored.ref is not None:
                del row["argsBlob"]
                row["argsRef"] = stored.ref
        elif "argsRef" in row:
            await payloads.accept(namespace, row["argsRef"])

    def _next_order(self) -> int:
        """Give microseconds of plane time that only grow, so that a batch keeps its order."""
        self._last_order = max(self._last_order + 1, int(self._clock.steady() * 1e6))
        return self._last_order


def _another(answer: Answer | None, row: Invocation) -> bool:
    return isinstance(answer, Submitted) and answer.id != id_of(row)
