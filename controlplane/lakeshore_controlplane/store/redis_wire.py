"""One connection to Redis on which commands follow each other without waiting for answers.

The client library spends several times longer on a command than Redis does, most of it on borrowing a connection. The
few commands of the hot paths (scripts of lanes, rings) go over this wire instead; it has the library's connection
for what is intricate: names, passwords, TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeAlias

import hiredis
from redis.asyncio.connection import ConnectionPool
from redis.exceptions import (
    BusyLoadingError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as ConnectionFailedError

Word: TypeAlias = str | bytes | int | float
_REFUSALS: dict[str, type[RedisError]] = {
    "NOSCRIPT": NoScriptError,
    "OOM": OutOfMemoryError,
    "LOADING": BusyLoadingError,
    "READONLY": ReadOnlyError,
}
_INCOMPLETE = object()
_READ = 1 << 16
_DRAIN_ABOVE = 1 << 16


class RedisWire:
    """Commands in the order in which they are given; connected when the first one needs it. For one event loop."""

    def __init__(self, pool: ConnectionPool) -> None:
        """Connect as the connections of ``pool`` do, but apart from them."""
        self._pool = pool
        self._connecting = asyncio.Lock()
        self._line: _Line | None = None

    async def command(self, *words: Word) -> Any:
        """Send a command and give its answer. Raises ``RedisError`` and ``OSError``; it may have been done then."""
        line = self._line
        if line is None or line.broken:
            line = await self._connect()
        return await line.command(words)

    async def script(self, sha: str, text: str, keys: Sequence[Word], args: Sequence[Word]) -> Any:
        """Run a script by its digest; Redis is told its text when it does not know it. Raises as ``command``."""
        try:
            return await self.command("EVALSHA", sha, len(keys), *keys, *args)
        except NoScriptError:
            return await self.command("EVAL", text, len(keys), *keys, *args)

    async def _connect(self) -> _Line:
        async with self._connecting:
            if self._line is None or self._line.broken:
                await self.reset()
                connection = self._pool.connection_class(**self._pool.connection_kwargs)
                await connection.connect()  # type: ignore[no-untyped-call]
                self._line = _Line(connection)
            return self._line

    async def reset(self) -> None:
        """Hang up; whoever waits for an answer gets an error. The next command connects anew."""
        line, self._line = self._line, None
        if line is not None:
            await line.close()


class _Line:
    """One open connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self.broken = False
        self._hearing = asyncio.get_running_loop().create_task(self._hear(), name="redis-answers")

    async def command(self, words: Sequence[Word]) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        packed: bytes = hiredis.pack_command(tuple(words))  # type: ignore[arg-type]
        self._waiting.append(answer)
        self._connection._writer.write(packed)
        if len(packed) > _DRAIN_ABOVE:
            await self._connection._writer.drain()
        return await answer

    async def _hear(self) -> None:
        parser = hiredis.Reader(notEnoughData=_INCOMPLETE)
        why = "Redis hung up"
        try:
            while data := await self._connection._reader.read(_READ):
                parser.feed(data)
                while (said := parser.gets()) is not _INCOMPLETE:
                    _settle(self._waiting.popleft(), said)
        except (OSError, hiredis.HiredisError, IndexError) as exc:
            why = str(exc)
        finally:
            self.broken = True
            while self._waiting:
                _settle(self._waiting.popleft(), ConnectionFailedError(why))

    async def close(self) -> None:
        self.broken = True
        self._hearing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._hearing
        with contextlib.suppress(Exception):
            await self._connection.disconnect()


def _settle(answer: asyncio.Future[Any], said: object) -> None:
    if answer.done():  # who asked has given up
        return
    if isinstance(said, hiredis.ReplyError):
        text = str(said)
        answer.set_exception(_REFUSALS.get(text.partition(" ")[0], ResponseError)(text))
    elif isinstance(said, Exception):
        answer.set_exception(said)
    else:
        answer.set_result(said)
