"""A connection to Redis that never hangs and never raises a Redis error: bounded calls behind a circuit breaker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from lakeshore_controlplane.store.redis_wire import RedisWire, Word

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_FAILURES = (RedisError, OSError, TimeoutError)


class LinkDownError(Exception):
    """Redis does not answer, is full, is loading, or takes no writes."""


class RedisLink:
    """One pool of connections to one Redis, shared by the adapters that talk to it.

    The first failure opens the circuit: from then on calls fail at once, while a task in the background asks Redis
    once per ``rest_s`` whether it answers again. So a dead Redis costs ``call_s`` once, not once per request.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int = 32,
        connect_s: float = 1.0,
        call_s: float = 2.0,
        rest_s: float = 1.0,
    ) -> None:
        """Connect lazily to ``url`` (redis://, rediss:// or unix://). All limits in seconds."""
        self._call_s = call_s
        self._rest_s = rest_s
        self._pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            timeout=call_s,
            socket_connect_timeout=connect_s,
            socket_timeout=call_s,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 0),  # a call that timed out may have happened: its caller decides
            protocol=2,
        )
        self.client = Redis(connection_pool=self._pool)
        self.wire = RedisWire(self._pool)
        self._probe: asyncio.Task[None] | None = None

    @property
    def down(self) -> bool:
        """Whether calls fail at once now."""
        return self._probe is not None

    async def call(self, work: Callable[[Redis], Awaitable[_T]]) -> _T:
        """Run ``work`` with the client within ``call_s``. Raises ``LinkDownError`` instead of every Redis error."""
        if self._probe is not None:
            raise LinkDownError("Redis does not answer; it is asked again soon")
        try:
            async with asyncio.timeout(self._call_s):
                return await work(self.client)
        except _FAILURES as error:
            self._open(error)
            raise LinkDownError(f"Redis failed: {_shown(error)}") from error

    async def command(self, *words: Word) -> Any:
        """Run one command over the wire. Limits and errors are those of ``call``."""
        return await self.call(lambda _client: self.wire.command(*words))

    async def close(self) -> None:
        """Close every connection; may be called again."""
        await self.wire.reset()
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.cancel()
            await asyncio.gather(probe, return_exceptions=True)
        await self.client.aclose()
        await self._pool.disconnect()

    def _open(self, error: BaseException) -> None:
        if self._probe is None:
            _log.warning("Redis failed, going on without it: %s", _shown(error))
            self._probe = asyncio.create_task(self._ask_until_it_answers(), name="redis-probe")

    async def _ask_until_it_answers(self) -> None:
        await self.wire.reset()
        while True:
            await asyncio.sleep(self._rest_s)
            try:
                async with asyncio.timeout(self._call_s):
                    await self.client.ping()
            except _FAILURES:
                continue
            self._probe = None
            _log.info("Redis answers again")
            return


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
