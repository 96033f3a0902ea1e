"""Looking up single invocations for many callers at once: who asks while a find is under way shares the next one."""

from __future__ import annotations

import asyncio

from lakeshore_controlplane.services.finishers import Finishers


class _Batch:
    def __init__(self) -> None:
        self.ids: dict[str, None] = {}
        self.states: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()


class Looks:
    """States of invocations. Whoever waits for the end of one that has ended is told by the same look."""

    def __init__(self, finishers: Finishers) -> None:
        self._finishers = finishers
        self._open: dict[str, _Batch] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def state(self, namespace: str, inv_id: str) -> str | None:
        """Give the state of a row, or None when there is none. Raises ``StoreUnavailable``."""
        batch = self._open.get(namespace)
        if batch is None:
            batch = self._open[namespace] = _Batch()
        batch.ids[inv_id] = None
        if namespace not in self._running:
            self._running[namespace] = asyncio.create_task(self._look(namespace), name="looks")
        # One who goes away must not take the answer from the others.
        return (await asyncio.shield(batch.states)).get(inv_id)

    async def _look(self, namespace: str) -> None:
        try:
            while (batch := self._open.pop(namespace, None)) is not None:
                try:
                    states = await self._finishers.look(namespace, [*batch.ids], ended_only=False)
                except Exception as exc:  # whatever it is, those who asked get it
                    batch.states.set_exception(exc)
                    batch.states.exception()  # nobody may be left to take it
                else:
                    batch.states.set_result(states)
        finally:
            del self._running[namespace]
