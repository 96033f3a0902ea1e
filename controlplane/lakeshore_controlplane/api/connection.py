"""The connection that a request came on: whether it is still there while its answer is made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request


class Connection:
    """An ``Asker``: the client at the other end. The request's body has been read."""

    __slots__ = ("_gone", "_request", "_watching")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._gone = False
        self._watching: asyncio.Task[None] | None = None

    def watch(self, left: Callable[[], None]) -> None:
        """Call ``left`` when the connection ends; once, until ``unwatch``. Further calls change nothing."""
        if self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(self._until_gone(left))

    async def has_left(self) -> bool:
        """Whether the connection has ended."""
        if not self._gone:
            self._gone = await self._request.is_disconnected()
        return self._gone

    def unwatch(self) -> None:
        """Watch no longer; may be called again."""
        if self._watching is not None:
            self._watching.cancel()

    async def _until_gone(self, left: Callable[[], None]) -> None:
        receive = self._request.receive
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        left()
