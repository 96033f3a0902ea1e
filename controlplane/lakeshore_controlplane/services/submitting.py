"""Submitting: rows first, then their places in the lane, then the bells; each id and each key once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import DeadlineTooNear, QueueUnavailable, Refusal, StoreUnavailable
from lakeshore_controlplane.services.admission import Admission, Grant
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.placing import Placing
from lakeshore_controlplane.services.planning import Planning
from lakeshore_controlplane.services.queue_book import QueueBook
from lakeshore_controlplane.services.repeats import Answer, KnownRows, in_order, known_of, repeats_in
from lakeshore_controlplane.services.room import Limits, limits_of
from lakeshore_controlplane.services.submission import Submission, Submitted, id_of, queue_of
from lakeshore_controlplane.services.topics import change_topic, work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.invocations import InvocationRows

__all__ = ["Submission", "Submitted", "Submitting"]

Told: TypeAlias = dict[str, Answer]
"""What becomes of submissions, by the ``_id`` of their rows."""


class Arrivals(Protocol):
    """Who counts new rows."""

    def arrived(self, queue: QueueKey, n: int) -> None:
        """Count ``n`` new rows."""


class Submitting:
    """Stores submissions. Raises ``StoreUnavailable``: then the same call again stores what is missing."""

    def __init__(
        self,
        *,
        rows: InvocationRows,
        queues: QueueBook,
        placing: Placing,
        bells: Bells,
        clock: Clock,
        admission: Admission,
        stats: Arrivals,
        payloads: Payloads | None = None,
    ) -> None:
        self._rows = rows
        self._queues = queues
        self._placing = placing
        self._bells = bells
        self._clock = clock
        self._admission = admission
        self._planning = Planning(rows=rows, queues=queues, clock=clock)
        self._payloads = payloads
        self._stats = stats

    async def submit(self, namespace: str, submission: Submission, *, wait_s: float = 0.0) -> Submitted:
        """Store one; raises what refuses it. ``wait_s``: how long to wait for room where the queue lets it."""
        (found,) = await self.submit_many(namespace, [submission], atomic=True, wait_s=wait_s)
        if isinstance(found, Refusal):
            raise found
        return found

    async def submit_many(
        self, namespace: str, submissions: Sequence[Submission], *, atomic: bool, wait_s: float = 0.0
    ) -> list[Answer]:
        """Store a batch, in its order; the answers in the same order.

        ``atomic``: all or none; the first refusal is raised. Otherwise each by itself, with its refusal in its place.
        """
        ends = asyncio.get_running_loop().time() + wait_s
        planned = await self._planning.plan(namespace, submissions)
        rows = [row for row in planned if not isinstance(row, Refusal)]
        again = repeats_in(rows)
        fresh = [row for place, row in enumerate(rows) if place not in again]
        if atomic and len(submissions) > 1:
            _raise_first([*planned, *again.values()])
            told = await self._all_or_none(namespace, fresh, ends)
        else:
            told = await self._each(namespace, fresh, ends)
        answers = in_order(planned, again, told)
        await self._discard_unused(namespace, zip(planned, answers, strict=True))
        if atomic:
            _raise_first(answers)
        return answers

    # -- each by itself
    async def _each(self, namespace: str, rows: Sequence[Invocation], ends: float) -> Told:
        told: Told = {}
        for queue, of_queue in _by_queue(namespace, rows).items():
            told |= await self._into(queue, of_queue, ends)
        return told

    async def _into(self, queue: QueueKey, rows: list[Invocation], ends: float) -> Told:
        """Store rows of one queue as it has room. What was stored before is answered even by a queue without."""
        told, left = await self._without_late(queue, rows)
        looked = False
        while left:
            wait_s = max(0.0, ends - asyncio.get_running_loop().time()) if looked else 0.0
            try:
                grant = await self._enter(queue, left, whole=False, wait_s=wait_s)
            except StoreUnavailable:
                raise
            except Refusal as refusal:
                if looked:
                    return told | {row["_id"]: refusal for row in left}
                looked = True
                known = await self._known(queue.namespace, left)
                left = [row for row in left if row["_id"] not in known]
                told |= known
                continue
            told |= await self._store(queue.namespace, left[: grant.n], [grant])
            left = left[grant.n :]
        return told

    async def _without_late(self, queue: QueueKey, rows: list[Invocation]) -> tuple[Told, list[Invocation]]:
        """Answer those whose deadline is too near; the others are given back."""
        cutoff_s = (await self._queues.get(queue))["admission"].get("deadline_cutoff_s")
        latest = None if cutoff_s is None else self._clock.steady() + cutoff_s
        late = [row for row in rows if latest is not None and row.get("deadlineAt", latest) < latest]
        if not late:
            return {}, rows
        told: Told = {row["_id"]: _too_late(queue, row, float(cutoff_s or 0.0)) for row in late}
        told |= await self._known(queue.namespace, late)
        return told, [row for row in rows if row["_id"] not in told]

    # -- all or none
    async def _all_or_none(self, namespace: str, rows: Sequence[Invocation], ends: float) -> Told:
        known = await self._known(namespace, rows)
        _raise_first(known.values())
        new = [row for row in rows if row["_id"] not in known]
        grants: list[Grant] = []
        try:
            for queue, of_queue in _by_queue(namespace, new).items():
                late, _ = await self._without_late(queue, of_queue)
                _raise_first(late.values())
                wait_s = max(0.0, ends - asyncio.get_running_loop().time())
                grants.append(await self._enter(queue, of_queue, whole=True, wait_s=wait_s))
        except Refusal:
            await self._give_back(grants)
            raise
        return known | (await self._store(namespace, new, grants, atomic=True) if new else {})

    # -- what both do
    async def _enter(
        self, queue: QueueKey, rows: Sequence[Invocation], *, whole: bool, wait_s: float
    ) -> Grant:
        async def limits_now() -> Limits:
            found = await self._queues.get(queue)
            if found["state"] != "active":
                raise _unavailable(queue.name, found["state"])
            return limits_of(found["admission"])

        ids = [id_of(row) for row in rows]
        return await self._admission.enter(queue, ids, limits_now, whole=whole, wait_s=wait_s)

    async def _store(
        self, namespace: str, rows: Sequence[Invocation], grants: Sequence[Grant], *, atomic: bool = False
    ) -> Told:
        """Insert rows and tell of them; those that were stored by others meanwhile are answered like repeats."""
        try:
            taken = await self._rows.insert(rows)
        except StoreUnavailable:
            raise  # they may be stored: the reservations end by themselves
        except Exception:
            await self._give_back(grants)
            raise
        stored = [row for place, row in enumerate(rows) if place not in taken]
        told: Told = {row["_id"]: Submitted(id_of(row), queue_of(row)) for row in stored}
        if taken:
            told |= await self._answer_taken(namespace, [rows[place] for place in sorted(taken)])
        if atomic and any(isinstance(answer, Refusal) for answer in told.values()):
            await self._rows.remove([row["_id"] for row in stored])
            await self._give_back(grants)
            _raise_first(told.values())
        used = _by_queue(namespace, stored)
        for grant in grants:
            await self._admission.settle(grant, len(used.get(grant.queue, ())))
        await self._tell(used)
        return told

    async def _answer_taken(self, namespace: str, rows: Sequence[Invocation]) -> Told:
        gone = StoreUnavailable("another submission of the same id or key ended meanwhile", retry_after_s=0.1)
        return {row["_id"]: gone for row in rows} | await self._known(namespace, rows)

    async def _give_back(self, grants: Sequence[Grant]) -> None:
        for grant in grants:
            await self._admission.settle(grant, 0)

    async def _known(self, namespace: str, rows: Sequence[Invocation]) -> Told:
        """Answer those that repeat stored rows, or whose id is taken; the others are left out."""
        keys: dict[str, set[str]] = {}
        for row in rows:
            if "idempotencyKey" in row:
                keys.setdefault(queue_of(row), set()).add(row["idempotencyKey"])
        found = await self._rows.find_known(namespace, map(id_of, rows), keys)
        known = KnownRows(map(known_of, found))
        if not known:
            return {}
        answers = {row["_id"]: known.answer(row) for row in rows}
        return {row_id: answer for row_id, answer in answers.items() if answer is not None}

    async def _discard_unused(
        self, namespace: str, answered: Iterable[tuple[Invocation | Refusal, Answer]]
    ) -> None:
        """Delete arguments that were spilled for rows which an earlier one's key stands for.

        No others: who was refused may be stored at this very moment, by the same request sent again.
        """
        spilled = [
            row["argsRef"]
            for row, answer in answered
            if not isinstance(row, Refusal)
            and isinstance(answer, Submitted)
            and answer.id != id_of(row)
            and row.get("argsRef", "").startswith("args.")
        ]
        if spilled and self._payloads is not None:
            await self._payloads.discard(namespace, spilled)

    async def _tell(self, stored: dict[QueueKey, list[Invocation]]) -> None:
        """Put stored rows at their places in the lane, count them, and ring for them."""
        for queue, rows in stored.items():
            await self._placing.push(queue, rows)
            self._stats.arrived(queue, len(rows))
            self._bells.ring([Ring(work_topic(queue)), Ring(change_topic(queue))])


def _by_queue(namespace: str, rows: Sequence[Invocation]) -> dict[QueueKey, list[Invocation]]:
    found: dict[QueueKey, list[Invocation]] = {}
    for row in rows:
        found.setdefault(QueueKey(namespace, queue_of(row)), []).append(row)
    return found


def _raise_first(answers: Iterable[object]) -> None:
    for answer in answers:
        if isinstance(answer, Refusal):
            raise answer


def _unavailable(queue: str, state: str) -> QueueUnavailable:
    return QueueUnavailable(
        f"queue {queue!r} is {state} and takes no new work: "
        f"open it again with `lakeshore queues unarchive {queue}`, or submit to another queue"
    )


def _too_late(queue: QueueKey, row: Invocation, cutoff_s: float) -> DeadlineTooNear:
    return DeadlineTooNear(
        f"invocation {id_of(row)} has a deadline that is nearer than queue {queue.name!r} takes "
        f"(deadline_cutoff_s {cutoff_s:g}): give it a later deadline"
    )
