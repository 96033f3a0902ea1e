"""Bells that replicas hear from each other, through Redis's PUBLISH."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Iterable
from typing import Any

from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from lakeshore_controlplane.store.bells.listener import Listener
from lakeshore_controlplane.store.bells.local import LocalBells
from lakeshore_controlplane.store.bells.numbers import REMEMBERED
from lakeshore_controlplane.store.bells.outgoing import RING_ALL, Outgoing, parse_message
from lakeshore_controlplane.store.bells.port import Ring
from lakeshore_controlplane.store.redis_link import LinkDownError, RedisLink

_PING_S = 1.0
_SILENCE_S = 3.0
"""Redis answers pings on the listening connection; silence that long means that it is down or frozen."""

_AGAIN_S = 0.5
_START_S = 1.0


class RedisBells:
    """``Bells`` for any number of replicas. Rings of this one are delivered here at once, with or without Redis."""

    def __init__(self, link: RedisLink, *, prefix: str = "lakeshore", remembered: int = REMEMBERED) -> None:
        """Use ``link``, which ``close`` closes. Replicas of one ``prefix`` hear each other."""
        self.degraded = True
        self._link = link
        self._local = LocalBells(remembered=remembered)
        self._pattern = f"{prefix}:bells:*"
        self._channel = f"{prefix}:bells:{secrets.token_hex(8)}"
        self._outgoing = Outgoing()
        self._wake: asyncio.Event = asyncio.Event()
        self._heard_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self._connected: asyncio.Event = asyncio.Event()

    def ring(self, rings: Iterable[Ring]) -> None:
        """Ring here at once, and elsewhere at the end of this turn of the event loop. See ``Bells.ring``."""
        rings = list(rings)
        self._local.ring(rings)
        self._outgoing.add(rings)
        self._wake.set()

    def subscribe(self, topic: str) -> Listener:
        """Listen from now on. See ``Bells.subscribe``."""
        return self._local.subscribe(topic)

    def cursor(self, topic: str) -> str:
        """Where the topic is now. See ``Bells.cursor``."""
        return self._local.cursor(topic)

    def moved(self, topic: str, cursor: str) -> bool:
        """Whether the topic rang since. See ``Bells.moved``."""
        return self._local.moved(topic, cursor)

    def ring_all(self) -> None:
        """Wake every listener of this replica. See ``Bells.ring_all``."""
        self._local.ring_all()

    async def start(self) -> None:
        """Begin to carry rings; waits a second at most for the connection, and goes on without it."""
        self._tasks = [
            asyncio.create_task(self._publish_for_ever(), name="bells-publish"),
            asyncio.create_task(self._listen_for_ever(), name="bells-listen"),
        ]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._connected.wait(), _START_S)

    async def close(self) -> None:
        """Tell the others what was rung last, and stop."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if tasks and self._outgoing:
            await self._publish()
        self.degraded = True
        await self._link.close()

    async def _publish_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._outgoing and not await self._publish():
                # Rings were lost to the others: they all are woken once Redis is back.
                self._outgoing.owe_all()
                self._wake.set()
                await asyncio.sleep(_AGAIN_S)

    async def _publish(self) -> bool:
        message = self._outgoing.take()
        try:
            await self._link.command("PUBLISH", self._channel, message)
        except LinkDownError:
            return False
        except asyncio.CancelledError:
            self._outgoing.owe_all()
            raise
        return True

    async def _listen_for_ever(self) -> None:
        while True:
            listening = self._link.client.pubsub()
            try:
                await self._listen(listening)
            except (RedisError, OSError, TimeoutError):
                self.degraded = True
                self._connected.clear()
            finally:
                with contextlib.suppress(RedisError, OSError):
                    await listening.aclose()  # type: ignore[no-untyped-call]
            await asyncio.sleep(_AGAIN_S)

    async def _listen(self, listening: PubSub) -> None:
        """Hear the others until the connection fails. Raises what the connection fails with."""
        async with asyncio.timeout(_SILENCE_S):
            await listening.psubscribe(self._pattern)
        self._heard_at = pinged_at = time.monotonic()
        while True:
            message = await listening.get_message(timeout=_PING_S)
            now = time.monotonic()
            if message is not None:
                self._heard_at = now
                self._hear(message)
            if now - self._heard_at > _SILENCE_S:
                raise TimeoutError
            if now - pinged_at >= _PING_S:
                pinged_at = now
                async with asyncio.timeout(_SILENCE_S):
                    await listening.ping()

    def _hear(self, message: dict[str, Any]) -> None:
        if message["type"] == "psubscribe":
            self.degraded = False
            self._connected.set()
            self.ring_all()  # what rang while nobody listened here
        elif message["type"] == "pmessage" and message["channel"] != self._channel.encode():
            rings = parse_message(message["data"])
            if any(ring.topic == RING_ALL for ring in rings):
                self.ring_all()
            else:
                self._local.ring(rings)
