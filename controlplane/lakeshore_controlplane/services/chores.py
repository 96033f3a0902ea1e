"""What every replica does now and then, besides sweeping: flush counters, forget what is old, measure."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from lakeshore_controlplane.faults import StoreUnavailable

log = logging.getLogger("lakeshore.chores")
_JITTER = 0.2
_WORST_PAUSE_S = 30.0


class Chore(NamedTuple):
    """``work`` is called every ``every_s`` seconds, a little more or less, so that replicas do not march in step."""

    name: str
    every_s: float
    work: Callable[[], Awaitable[object]]


class Chores:
    """Runs chores until it is closed. One that fails is logged and tried again."""

    def __init__(self, chores: list[Chore]) -> None:
        self._chores = chores
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin."""
        self._tasks = [
            asyncio.create_task(_repeat(chore), name=f"chore-{chore.name}") for chore in self._chores
        ]

    async def close(self) -> None:
        """End; what was begun is cancelled."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _repeat(chore: Chore) -> None:
    failures = 0
    while True:
        pause = chore.every_s * 2**failures
        pause = min(pause, max(chore.every_s, _WORST_PAUSE_S)) * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311
        await asyncio.sleep(pause)
        try:
            await chore.work()
            failures = 0
        except StoreUnavailable as refusal:
            failures = min(failures + 1, 5)
            log.warning("%s has to wait: %s", chore.name, refusal.message)
        except Exception:
            failures = min(failures + 1, 5)
            log.exception("%s failed", chore.name)
