"""Polls that came before: told by the name that their worker made for each of its claims."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from lakeshore_controlplane.services.askers import Asker, Askers
from lakeshore_controlplane.store.mongo.workers import WorkerKey

A = TypeVar("A")
Earlier: TypeAlias = Literal["unknown", "tried", "answered"]
"""What this replica did under a name before: nothing, an attempt that ended in an error, or an answer."""

_WORKERS = 10_000
_EACH = 8
"""Names that are kept: of so many workers, the last ones of each."""


class ClaimName(NamedTuple):
    """A worker's name for one claim."""

    worker: WorkerKey
    claim_id: str


class _UnderWay(Generic[A]):
    __slots__ = ("answer", "askers")

    def __init__(self, asker: Asker) -> None:
        self.askers = Askers(asker)
        self.answer: asyncio.Future[A | None] = asyncio.get_running_loop().create_future()


class RepeatedPolls(Generic[A]):
    """Lets each claim of a worker happen once on this replica, however often it is asked for."""

    def __init__(self) -> None:
        self._under_way: dict[ClaimName, _UnderWay[A]] = {}
        self._earlier: OrderedDict[WorkerKey, dict[str, Earlier]] = OrderedDict()

    async def once(
        self, name: ClaimName, asker: Asker, make: Callable[[Askers, Earlier], Awaitable[A | None]]
    ) -> A | None:
        """Give the answer that ``make(askers, earlier)`` makes, the same to all who ask while it does.

        An answer of None is for nobody (all who asked are gone, and what they would have got is handed back): who
        came meanwhile has it made anew, and so has everyone after an error.
        """
        while (earlier := self._under_way.get(name)) is not None:
            earlier.askers.add(asker)
            await asyncio.wait([earlier.answer])
            answer = None if earlier.answer.cancelled() else earlier.answer.result()
            if answer is not None:
                return answer
        return await self._make(name, asker, make)

    async def _make(
        self, name: ClaimName, asker: Asker, make: Callable[[Askers, Earlier], Awaitable[A | None]]
    ) -> A | None:
        mine = self._under_way[name] = _UnderWay(asker)
        try:
            earlier = self._earlier.get(name.worker, {}).get(name.claim_id, "unknown")
            if earlier == "unknown":
                self._remember(name, "tried")
            answer = await make(mine.askers, earlier)
            if answer is not None:
                self._remember(name, "answered")
            mine.answer.set_result(answer)
            return answer
        finally:
            del self._under_way[name]
            if not mine.answer.done():
                mine.answer.set_result(None)

    def _remember(self, name: ClaimName, what: Earlier) -> None:
        known = self._earlier.setdefault(name.worker, {})
        known[name.claim_id] = what
        if len(known) > _EACH:
            del known[next(iter(known))]
        self._earlier.move_to_end(name.worker)
        if len(self._earlier) > _WORKERS:
            self._earlier.popitem(last=False)
