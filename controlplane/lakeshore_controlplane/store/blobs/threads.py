"""A few threads for calls that block, with a limit on waiting for a thread and on waiting for the call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lakeshore_controlplane.faults import StoreUnavailable

_T = TypeVar("_T")


class BlockingCalls:
    """Runs functions in at most ``threads`` threads; their own exceptions pass through.

    Whoever gets no thread within ``room_s``, or no answer within ``call_s`` seconds, is told ``StoreUnavailable``. A
    call that was given up keeps its thread until it ends: a store that hangs cannot pile up work here.
    """

    def __init__(self, name: str, *, threads: int = 8, room_s: float = 10.0, call_s: float = 60.0) -> None:
        self._name = name
        self._room_s = room_s
        self._call_s = call_s
        self._room = asyncio.Semaphore(threads)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in a thread and give what it gives."""
        try:
            async with asyncio.timeout(self._room_s):
                await self._room.acquire()
        except TimeoutError:
            raise StoreUnavailable(
                f"the {self._name} store is too slow for what is asked of it", retry_after_s=2.0
            ) from None
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(self._leave)
        try:
            async with asyncio.timeout(self._call_s):
                return await asyncio.shield(future)
        except TimeoutError:
            if future.done() and not future.cancelled() and future.exception() is not None:
                raise
            raise StoreUnavailable(
                f"the {self._name} store did not answer within {self._call_s:g} s", retry_after_s=2.0
            ) from None

    def _leave(self, future: asyncio.Future[_T]) -> None:
        self._room.release()
        if not future.cancelled():
            future.exception()  # seen, also where nobody waits for it any more

    def close(self) -> None:
        """Take no more calls; those that run end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)
