"""Waiting on a plane from an event loop, without a thread per waiter."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dreamlake.lakeshore.queue.outcomes import unknown_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from dreamlake.lakeshore.dispatch.plane import Completions, Listener, Outcome, Plane

_RECHECK_S = 5.0
_POLL_S = 0.02
"""Seconds between looks at a plane whose listeners have no descriptor to watch."""


class Wakeups:
    """A plane's listener as something to await."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._fd = listener.fileno()
        if self._fd >= 0:
            self._loop.add_reader(self._fd, self._on_readable)

    def _on_readable(self) -> None:
        self._listener.wait(0)
        self._woken.set()

    def set(self) -> None:
        """Wake up whoever waits."""
        self._woken.set()

    async def wait(self, timeout: float) -> None:  # noqa: ASYNC109
        """Wait for a wake-up, or ``timeout`` seconds; clears it."""
        limit = timeout if self._fd >= 0 else min(timeout, _POLL_S)
        try:
            async with asyncio.timeout(limit):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()

    def close(self) -> None:
        """Stop listening."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
        self._listener.close()


class OutcomeWatcher:
    """One stream of completions for all waiters of an event loop on one plane.

    It lives while somebody waits: a task collects outcomes in a thread when the plane says that something
    has ended, and sets the waiters' futures.
    """

    def __init__(self, plane: Plane, forget: Callable[[], object]) -> None:
        self._plane = plane
        self._forget = forget
        self._waiters: dict[str, list[asyncio.Future[Outcome]]] = {}
        self._new: list[str] = []
        self._wakeups = Wakeups(plane.listen("done"))
        self._completions: Completions = plane.completions()
        self._task = asyncio.create_task(self._run(), name="lakeshore-outcomes")

    async def outcome(self, inv_id: str) -> Outcome:
        """Wait until the invocation has ended. Raises ``DispatchError`` for an unknown id."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        waiters = self._waiters.setdefault(inv_id, [])
        waiters.append(future)
        self._new.append(inv_id)
        self._wakeups.set()
        try:
            return await future
        finally:
            waiters.remove(future)
            if not waiters:
                self._waiters.pop(inv_id, None)
                self._wakeups.set()

    async def _run(self) -> None:
        try:
            while self._waiters:
                new, self._new = self._new, []
                ended, unknown = await asyncio.to_thread(self._collect, new)
                for outcome in ended:
                    self._settle(outcome.id, outcome)
                for inv_id in unknown:
                    self._settle(inv_id, unknown_id(inv_id))
                if not self._new and self._waiters:
                    await self._wakeups.wait(_RECHECK_S)
        except Exception as exc:  # a plane that fails fails every waiter
            for inv_id in list(self._waiters):
                self._settle(inv_id, exc)
        finally:
            self._forget()
            self._wakeups.close()
            self._completions.close()

    def _collect(self, new: list[str]) -> tuple[list[Outcome], list[str]]:
        self._completions.add(new)
        ended = self._completions.wait(0)
        settled = {outcome.id for outcome in ended}
        return ended, [inv_id for inv_id in new if inv_id not in settled and self._plane.get(inv_id) is None]

    def _settle(self, inv_id: str, what: Outcome | Exception) -> None:
        for future in self._waiters.get(inv_id, ()):
            if future.done():
                continue
            if isinstance(what, Exception):
                future.set_exception(what)
            else:
                future.set_result(what)


_watchers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, OutcomeWatcher]] = WeakKeyDictionary()
_lock = threading.Lock()


def watcher_of(plane: Plane) -> OutcomeWatcher:
    """Give the running loop's watcher of a plane, starting it if nobody waits there yet."""
    with _lock:
        ours = _watchers.setdefault(asyncio.get_running_loop(), {})
    found = ours.get(id(plane))
    if found is None:
        found = ours[id(plane)] = OutcomeWatcher(plane, lambda: ours.pop(id(plane), None))
    return found
