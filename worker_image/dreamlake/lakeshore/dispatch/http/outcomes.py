"""Outcomes for any number of tasks of one event loop: one watch for all of them, on a connection or two."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S, LostAnswerError
from dreamlake.lakeshore.dispatch.http.watch import Watch

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.async_requests import AsyncRequests
    from dreamlake.lakeshore.dispatch.plane import Outcome

_GATHER_S = 0.001
"""Seconds in which ids gather before they are told: tasks come in crowds."""
_EARLY_S = 0.1


class AsyncOutcomes:
    """Waits on the server for all that somebody here waits for.

    One question waits there at a time. New ids do not wait for its answer: a second one under the watch's name tells
    them, and the server answers the first at once. The last question is left to its end when nobody waits any more.
    """

    def __init__(self, requests: AsyncRequests) -> None:
        self._requests = requests
        self._watch = Watch()
        self._waiters: dict[str, list[asyncio.Future[Outcome]]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._gathering: asyncio.TimerHandle | None = None
        self._losses: Patience | None = None

    async def outcome(self, inv_id: str) -> Outcome:
        """Wait until the invocation has ended; for ever for one that nobody submits."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        waiters = self._waiters.setdefault(inv_id, [])
        waiters.append(future)
        self._watch.add([inv_id])
        self._stir()
        try:
            return await future
        finally:
            waiters.remove(future)
            if not waiters and self._waiters.get(inv_id) is waiters:
                del self._waiters[inv_id]
                self._watch.drop(inv_id)

    def fail(self, inv_id: str, error: Exception) -> None:
        """Raise an error where this one is waited for."""
        for future in self._waiters.get(inv_id, ()):
            if not future.done():
                future.set_exception(error)

    def _stir(self) -> None:
        """See to it that what is new is told soon."""
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(_GATHER_S, self._tell)

    def _tell(self) -> None:
        self._gathering = None
        # The first question of a name must have arrived before another one may interrupt it.
        if self._asking is not None and (not self._watch.is_known or not self._watch.unsent):
            return
        self._ask()

    def _ask(self) -> None:
        wait_s = LONG_POLL_S if self._watch.is_known else 0.0
        task = asyncio.get_running_loop().create_task(self._take(wait_s), name="lakeshore-outcomes")
        self._asking = task
        self._tasks.add(task)
        task.add_done_callback(self._answered)

    async def _take(self, wait_s: float) -> None:
        began = time.monotonic()
        try:
            told = await self._requests.run(self._watch.ask(wait_s))
        except LostAnswerError as exc:
            self._losses = self._losses or Patience(self._requests.timeout_s)
            pause = self._losses.pause_s()
            if pause is None:
                self._losses = None
                raise exc from None
            await asyncio.sleep(pause)
            return
        self._losses = None
        if not told.ended and not told.again and time.monotonic() - began < wait_s / 2:
            await asyncio.sleep(_EARLY_S)  # another question took its place, or that replica goes away
        for outcome in told.ended:
            for future in self._waiters.get(outcome.id, ()):
                if not future.done():
                    future.set_result(outcome)
            self._waiters.pop(outcome.id, None)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task is self._asking:
            self._asking = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):  # a plane that fails fails every waiter
            for inv_id in list(self._waiters):
                self.fail(inv_id, error)
        elif not task.cancelled() and self._asking is None and self._watch:
            self._ask()
