"""Who waits for which invocation to end: one subscription for each namespace, whatever the number of those who wait.

Ends come as bells that carry the outcome or only an id, or as rows: what is looked for is looked up together, a few
hundred ids in one find, and all of it again every few seconds in case a bell was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from lakeshore_controlplane.documents import TERMINAL_STATES, Invocation
from lakeshore_controlplane.faults import Refusal
from lakeshore_controlplane.services.topics import Outcome, done_topic, ended_of, outcome_of
from lakeshore_controlplane.store.bells.port import Bells, Subscription
from lakeshore_controlplane.store.mongo.outcomes import OutcomeStore

_logger = logging.getLogger(__name__)

LOOK_AGAIN_S = 5.0
LOOK_AGAIN_DEGRADED_S = 0.5
_TICK_S = 0.5
_LOOK_SHARE = 5
"""Looking again at everything takes at most one part in so many of the time, however many wait."""
_TOGETHER = 500
_TOGETHER_BYTES = 8 * 1024 * 1024
_LISTEN_S = 60.0
_STAY_S = 10.0
"""Seconds that a namespace is listened to after the last one who waited left."""

Ended: TypeAlias = Callable[[Outcome | None], None]
"""Told of an end, once, or None when this replica stops. Called on the event loop; must not raise."""


class _Hall:
    """Those who wait in one namespace."""

    def __init__(self, heard: Subscription) -> None:
        self.heard = heard
        self.waiting: dict[str, Ended | dict[Ended, None]] = {}
        self.wanted: dict[str, None] = {}  # of bells that had no outcome with them
        self.look_at_all = False
        self.wake = asyncio.Event()
        self.looking = asyncio.Lock()
        self.tasks: list[asyncio.Task[None]] = []

    def add(self, inv_id: str, ended: Ended) -> None:
        there = self.waiting.get(inv_id)
        if there is None:
            self.waiting[inv_id] = ended
        elif isinstance(there, dict):
            there[ended] = None
        else:
            self.waiting[inv_id] = {there: None, ended: None}

    def remove(self, inv_id: str, ended: Ended) -> None:
        there = self.waiting.get(inv_id)
        if isinstance(there, dict):
            there.pop(ended, None)
        if not there or there == ended:
            self.waiting.pop(inv_id, None)

    def settle(self, inv_id: str, outcome: Outcome | None) -> None:
        there = self.waiting.pop(inv_id, None)
        for ended in there if isinstance(there, dict) else () if there is None else (there,):
            ended(outcome)

    def hear(self, payload: bytes) -> None:
        try:
            told = ended_of(payload)
        except (ValueError, TypeError):
            told = None  # from a replica of another version: the rows say the same
        if isinstance(told, Outcome):
            self.settle(told.id, told)
        elif told is None:
            self.look_at_all = True
            self.wake.set()
        elif told in self.waiting:
            self.wanted[told] = None
            self.wake.set()


class Finishers:
    """Tells those who wait on this replica that invocations ended."""

    def __init__(self, *, rows: OutcomeStore, bells: Bells, stopping: Callable[[], bool]) -> None:
        """``stopping()`` says that this replica goes away: with the next bell all are told so."""
        self._rows = rows
        self._bells = bells
        self._stopping = stopping
        self._halls: dict[str, _Hall] = {}

    def expect(self, namespace: str, ids: Iterable[str], ended: Ended) -> None:
        """Tell ``ended`` of each of them that ends from now on; ``look`` finds those that ended before."""
        hall = self._halls.get(namespace)
        if hall is None:
            hall = self._halls[namespace] = _Hall(self._bells.subscribe(done_topic(namespace)))
            hall.tasks = [
                asyncio.create_task(self._listen(hall), name="ends-heard"),
                asyncio.create_task(self._look_on(namespace, hall), name="ends-looked-up"),
            ]
        for inv_id in ids:
            hall.add(inv_id, ended)

    def forget(self, namespace: str, ids: Iterable[str], ended: Ended) -> None:
        """Tell ``ended`` no more of these."""
        hall = self._halls.get(namespace)
        if hall is not None:
            for inv_id in ids:
                hall.remove(inv_id, ended)

    async def look(self, namespace: str, ids: Sequence[str], *, ended_only: bool = True) -> dict[str, str]:
        """Look rows up and tell of those that ended; the states of all that are there, or of the ended ones."""
        states: dict[str, str] = {}
        for start in range(0, len(ids), _TOGETHER):
            ended: list[Invocation] = []
            size = 0
            some = ids[start : start + _TOGETHER]
            async for row in self._rows.outcomes(namespace, some, ended_only=ended_only):
                states[row["_id"].partition("/")[2]] = row["state"]
                if row["state"] in TERMINAL_STATES:
                    ended.append(row)
                    size += len(row.get("resultBlob") or b"")
                if size >= _TOGETHER_BYTES:
                    self._settle(namespace, ended)
                    ended, size = [], 0
            self._settle(namespace, ended)
        return states

    def _settle(self, namespace: str, ended: list[Invocation]) -> None:
        """Tell of rows in the order in which they ended, as far as that is known."""
        hall = self._halls.get(namespace)
        if hall is not None:
            for row in sorted(ended, key=lambda row: (row.get("finishedAt", 0.0), row.get("order", 0))):
                outcome = outcome_of(row)
                hall.settle(outcome.id, outcome)

    async def catch_up(self, namespace: str, ids: Sequence[str]) -> None:
        """Tell now of what has ended of ``ids``: all that rang here, and when they are few whatever their rows say."""
        hall = self._halls.get(namespace)
        if hall is None:
            return
        for payload in hall.heard.payloads():
            hall.hear(payload)
        if hall.look_at_all or self._bells.degraded or len(ids) <= _TOGETHER:
            await self.look(namespace, ids)
        else:
            await self._look_at_wanted(namespace, hall)

    async def close(self) -> None:
        """Stop listening; all who still wait are told None."""
        halls, self._halls = self._halls, {}
        for hall in halls.values():
            _dismiss(hall)
            hall.heard.close()
            for task in hall.tasks:
                task.cancel()
            await asyncio.gather(*hall.tasks, return_exceptions=True)

    async def _listen(self, hall: _Hall) -> None:
        """Hear ends as they ring; nothing is looked up here, so that no bell has to wait."""
        while True:
            await hall.heard.wait(_LISTEN_S)
            payloads = hall.heard.payloads()
            if hall.waiting:
                for payload in payloads:
                    hall.hear(payload)
            if self._stopping():
                _dismiss(hall)

    async def _look_on(self, namespace: str, hall: _Hall) -> None:
        """Look up what was rung without its outcome, and everything now and then, until nobody waits any more."""
        looked_at = used_at = time.monotonic()
        took_s = 0.0
        while hall.waiting or time.monotonic() - used_at < _STAY_S:
            if hall.waiting:
                used_at = time.monotonic()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK_S):
                    await hall.wake.wait()
            hall.wake.clear()
            try:
                await self._look_at_wanted(namespace, hall)
                again_s = LOOK_AGAIN_DEGRADED_S if self._bells.degraded else LOOK_AGAIN_S
                due_s = max(0.0 if hall.look_at_all else again_s, took_s * _LOOK_SHARE)
                if time.monotonic() - looked_at >= due_s:
                    hall.look_at_all = False
                    looked_at = time.monotonic()
                    await self.look(namespace, [*hall.waiting])
                    took_s = time.monotonic() - looked_at
            except Exception as exc:  # without this task, those who wait would miss what no bell says
                _logger.warning(
                    "ends cannot be looked up now: %s", exc, exc_info=not isinstance(exc, Refusal)
                )
                hall.look_at_all = True
                await asyncio.sleep(_TICK_S)
        self._leave(namespace, hall)

    async def _look_at_wanted(self, namespace: str, hall: _Hall) -> None:
        async with hall.looking:  # who comes second wants to know what the first one finds
            wanted, hall.wanted = hall.wanted, {}
            await self.look(namespace, [inv_id for inv_id in wanted if inv_id in hall.waiting])

    def _leave(self, namespace: str, hall: _Hall) -> None:
        if self._halls.get(namespace) is hall:
            del self._halls[namespace]
        hall.heard.close()
        hall.tasks[0].cancel()


def _dismiss(hall: _Hall) -> None:
    for inv_id in [*hall.waiting]:
        hall.settle(inv_id, None)
