"""Waiting for the end of one invocation, or for the first of some."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from lakeshore_controlplane.faults import NotFound
from lakeshore_controlplane.services.finishers import Finishers
from lakeshore_controlplane.services.looks import Looks
from lakeshore_controlplane.services.reading import unknown_text
from lakeshore_controlplane.services.topics import Outcome


class Awaiting:
    """Long polls for outcomes."""

    def __init__(self, *, finishers: Finishers, stopping: Callable[[], bool]) -> None:
        """``stopping()`` says that this replica goes away: nothing is waited for then."""
        self._finishers = finishers
        self._looks = Looks(finishers)
        self._stopping = stopping

    async def outcome(self, namespace: str, inv_id: str, *, timeout_s: float = 0.0) -> Outcome | str:
        """Wait up to ``timeout_s`` for an end; the state it is still in when it has not ended.

        Raises ``NotFound`` for an id that nobody submitted here.
        """
        waiter = _Waiter()
        self._finishers.expect(namespace, [inv_id], waiter.tell)
        try:
            state = await self._looks.state(namespace, inv_id)
            if not waiter.told.done() and state is not None and timeout_s > 0 and not self._stopping():
                await asyncio.wait([waiter.told], timeout=timeout_s)
                if not waiter.told.done():
                    state = await self._looks.state(namespace, inv_id)
            if waiter.first is not None:
                return waiter.first
            if state is None:
                raise NotFound(unknown_text(inv_id))
            return state
        finally:
            self._finishers.forget(namespace, [inv_id], waiter.tell)

    async def outcomes(self, namespace: str, ids: Sequence[str], *, timeout_s: float = 0.0) -> list[Outcome]:
        """Give those that have ended, waiting up to ``timeout_s`` for the first."""
        waiter = _Waiter()
        wanted = [*dict.fromkeys(ids)]
        self._finishers.expect(namespace, wanted, waiter.tell)
        try:
            await self._finishers.look(namespace, wanted)
            if wanted and not waiter.told.done() and timeout_s > 0 and not self._stopping():
                await asyncio.wait([waiter.told], timeout=timeout_s)
            return waiter.ended
        finally:
            self._finishers.forget(namespace, wanted, waiter.tell)


class _Waiter:
    """Holds what it was told."""

    __slots__ = ("ended", "told")

    def __init__(self) -> None:
        self.ended: list[Outcome] = []
        self.told: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def first(self) -> Outcome | None:
        return self.ended[0] if self.ended else None

    def tell(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            self.ended.append(outcome)
        if not self.told.done():
            self.told.set_result(None)
