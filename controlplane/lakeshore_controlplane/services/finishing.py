"""Ending attempts as workers report them. Every change is guarded by the fence of worker and attempt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation, InvocationState
from lakeshore_controlplane.faults import Fenced
from lakeshore_controlplane.services.attempt_ends import gathered
from lakeshore_controlplane.services.finishing_plan import (
    Accepted,
    Report,
    accept,
    fate_of,
    fenced_text,
    repeat_of,
)
from lakeshore_controlplane.services.holdings import Holdings
from lakeshore_controlplane.services.placing import Placing
from lakeshore_controlplane.services.submission import id_of, queue_of
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.services.topics import Outcome, change_topic, done_rings, work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.claims_port import Claims

__all__ = ["Finishing", "Report"]


class Finishing:
    """Takes reports. A worker that no longer holds an attempt is fenced; a report sent twice gets its first answer."""

    def __init__(
        self,
        *,
        rows: Claims,
        placing: Placing,
        bells: Bells,
        clock: Clock,
        tallies: Tallies,
        finished: Callable[[QueueKey, int, float], None],
        idle: Callable[[str, str], None],
        holdings: Holdings | None = None,
    ) -> None:
        """``finished(queue, n, seconds)`` counts successes, ``idle(namespace, worker)`` notes who ended something.

        ``holdings``: what this replica leased; without it every report begins with a look at its row.
        """
        self._rows = rows
        self._placing = placing
        self._bells = bells
        self._clock = clock
        self._tallies = tallies
        self._finished = finished
        self._idle = idle
        self._holdings = holdings or Holdings()

    async def report_one(self, namespace: str, worker_id: str | None, report: Report) -> InvocationState:
        """Take one report; the state that it led to. Raises ``Fenced``."""
        key = f"{namespace}/{report.id}"
        if report.needs_row:
            return await self._report_by_row(namespace, worker_id, report)
        accepted = accept(report, worker_id, key, self._clock.steady())
        row = await self._rows.apply_one(accepted.change)
        if row is not None:
            await self._tell(namespace, worker_id, [(row, report, accepted)])
            return accepted.state
        found = await self._rows.brief([key])
        repeated = repeat_of(report, worker_id, found[0]) if found else None
        if repeated is None:
            raise self._fenced(report, worker_id, found[0] if found else None)
        return repeated.state

    async def report(self, namespace: str, worker_id: str | None, items: Sequence[Report]) -> list[str]:
        """Take many reports; the ids of those that were fenced, in their order."""
        fenced: list[str] = []
        while items:
            # Two reports of one row are two changes of it: the second is judged by what the first left.
            batch = {item.id: item for item in reversed(items)}
            later = [item for item in items if batch[item.id] is not item]
            fenced += await self._report_batch(namespace, worker_id, [*reversed(batch.values())])
            items = later
        self._tallies.fenced_acks += len(fenced)
        return fenced

    async def _report_batch(
        self, namespace: str, worker_id: str | None, reports: Sequence[Report]
    ) -> list[str]:
        rows = await self._rows_of(namespace, worker_id, reports)
        now = self._clock.steady()
        fates = {report.id: fate_of(report, worker_id, rows.get(report.id), now) for report in reports}
        accepted = {inv_id: fate for inv_id, fate in fates.items() if isinstance(fate, Accepted)}
        await self._placing.expect([rows[i] for i, fate in accepted.items() if fate.state == "queued"])
        done = await self._rows.apply(gathered([fate.change for fate in accepted.values()]))
        taken = [
            (rows[report.id], report, accepted[report.id])
            for report in reports
            if report.id in accepted and f"{namespace}/{report.id}" in done
        ]
        await self._tell(namespace, worker_id, taken)
        refused = [r for r in reports if r.id in accepted and f"{namespace}/{r.id}" not in done]
        repeated = await self._repeated(namespace, worker_id, refused)
        lost = {report.id for report in refused if report.id not in repeated}
        return [r.id for r in reports if fates[r.id] is None or r.id in lost]

    async def _rows_of(
        self, namespace: str, worker_id: str | None, reports: Sequence[Report]
    ) -> dict[str, Invocation]:
        """Give brief rows by id: as they were leased where that is known and will do, else as they are."""
        found: dict[str, Invocation] = {}
        missing: list[str] = []
        for report in reports:
            key = f"{namespace}/{report.id}"
            row = self._holdings.take(key)
            if (
                row is None
                or report.needs_row
                or worker_id is None
                or (row.get("workerId"), row["attempt"]) != (worker_id, report.attempt)
            ):
                missing.append(key)
            else:
                found[report.id] = row
        return found | {id_of(row): row for row in await self._rows.brief(missing)}

    async def _repeated(self, namespace: str, worker_id: str | None, reports: Sequence[Report]) -> set[str]:
        """Give the ids of reports that were taken before, as their rows say now."""
        rows = {id_of(row): row for row in await self._rows.brief([f"{namespace}/{r.id}" for r in reports])}
        return {r.id for r in reports if r.id in rows and repeat_of(r, worker_id, rows[r.id]) is not None}

    async def _report_by_row(self, namespace: str, worker_id: str | None, report: Report) -> InvocationState:
        key = f"{namespace}/{report.id}"
        found = await self._rows.brief([key])
        row = found[0] if found else None
        fate = fate_of(report, worker_id, row, self._clock.steady())
        if isinstance(fate, Accepted) and row is not None:
            await self._placing.expect([row] if fate.state == "queued" else [])
            if await self._rows.apply_one(fate.change) is None:
                row = next(iter(await self._rows.brief([key])), None)
                fate = None if row is None else repeat_of(report, worker_id, row)
            else:
                await self._tell(namespace, worker_id, [(row, report, fate)])
        if fate is None:
            raise self._fenced(report, worker_id, row)
        return fate.state

    def _fenced(self, report: Report, worker_id: str | None, row: Invocation | None) -> Fenced:
        self._tallies.fenced_acks += 1
        return Fenced(fenced_text(report.id, worker_id, row))

    async def _tell(
        self, namespace: str, worker_id: str | None, taken: Sequence[tuple[Invocation, Report, Accepted]]
    ) -> None:
        """Tell lanes, waiters and counters of reports that were taken; ``taken`` has the rows from before."""
        by_queue: defaultdict[str, list[tuple[Invocation, Report, Accepted]]] = defaultdict(list)
        for one in taken:
            by_queue[queue_of(one[0])].append(one)
        self._tallies.finished += len(taken)
        for name, group in by_queue.items():
            queue = QueueKey(namespace, name)
            ended = [_outcome(*one) for one in group if one[2].state != "queued"]
            self._placing.drop_soon(queue, [outcome.id for outcome in ended])
            self._count(queue, group)
            again = [_queued_again(row, accepted) for row, _, accepted in group if accepted.state == "queued"]
            # The place comes first: who is woken by the bell finds it.
            await self._placing.push(queue, again)
            rings = [Ring(change_topic(queue)), *done_rings(namespace, ended)]
            self._bells.ring(rings if not again else [*rings, Ring(work_topic(queue))])
        if taken and worker_id is not None:
            self._idle(namespace, worker_id)

    def _count(self, queue: QueueKey, group: Sequence[tuple[Invocation, Report, Accepted]]) -> None:
        now = self._clock.steady()
        lasted = [now - row.get("startedAt", now) for row, _, done in group if done.state == "succeeded"]
        if lasted:
            self._finished(queue, len(lasted), sum(lasted))


def _outcome(row: Invocation, report: Report, accepted: Accepted) -> Outcome:
    error = None if accepted.error is None else dict(accepted.error)
    result = report.result if accepted.state == "succeeded" else None
    return Outcome(id_of(row), accepted.state, row["attempt"], result, error, report.result_ref)


def _queued_again(row: Invocation, accepted: Accepted) -> Invocation:
    due = accepted.change.sets.get("dueAt", row["dueAt"])
    return {**row, "dueAt": due}  # type: ignore[typeddict-item]
