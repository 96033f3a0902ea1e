"""One listener on one topic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PENDING_PAYLOADS = 1_000
PENDING_BYTES = 256 * 1024
"""What a listener that does not look may pile up: beyond that it is told to look at the rows."""


class Listener:
    """A ``Subscription``, in as little memory as may be: there can be ten thousand of them on a replica."""

    __slots__ = ("_bytes", "_future", "_leave", "_payloads", "_rung", "slot", "topic")

    def __init__(self, topic: str, slot: int, leave: Callable[[Listener], None]) -> None:
        """``slot``: its place among the topic's listeners; ``leave`` takes it out of there."""
        self.topic = topic
        self.slot = slot
        self._leave: Callable[[Listener], None] | None = leave
        self._rung = False
        self._future: asyncio.Future[None] | None = None
        self._payloads: list[bytes] | None = None
        self._bytes = 0

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the limit is part of the port
        """Wait for a ring since the last call. One waiter at a time; a cancelled wait loses no ring."""
        if not self._rung and timeout > 0:
            await self._sleep(timeout)
        # Only now, and without an await behind it: who is cancelled above leaves the ring for the next call.
        rung, self._rung = self._rung, False
        return rung

    def payloads(self) -> list[bytes]:
        """Take what was heard; b"" first says that some was dropped."""
        heard, self._payloads, self._bytes = self._payloads, None, 0
        return heard or []

    def close(self) -> None:
        """Stop listening; may be called again."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave(self)

    def hear(self, payload: bytes) -> None:
        """Take a ring in."""
        self._keep(payload)
        self._rung = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def _keep(self, payload: bytes) -> None:
        heard = self._payloads
        if heard is None:
            self._payloads, self._bytes = [payload], len(payload)
            return
        if not payload and not heard[-1]:
            return  # "look at the rows" need not be said twice
        if len(heard) >= PENDING_PAYLOADS or self._bytes + len(payload) > PENDING_BYTES:
            heard[:] = [b""]
            self._bytes = 0
        heard.append(payload)
        self._bytes += len(payload)

    async def _sleep(self, timeout: float) -> None:  # noqa: ASYNC109
        if self._future is not None:
            raise RuntimeError("somebody waits on this subscription already: make one for each waiter")
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        timer = loop.call_later(timeout, _resolve, self._future)
        try:
            await self._future
        finally:
            timer.cancel()
            self._future = None


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
