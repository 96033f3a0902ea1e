"""Copies of documents that a replica keeps for a moment, so that the hot paths need not read them each time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.store.bells.port import Bells

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_FRESH_S = 5.0
"""Seconds that a copy serves while bells tell of changes."""
_FRESH_DEGRADED_S = 1.0
"""The same while bells of other replicas may be lost."""


class _Copy(NamedTuple):
    value: object
    read_at: float
    cursor: str  # of the topic, from before the read


class Copies(Generic[K, V]):
    """At most ``limit`` copies, each at most 5 s old (1 s while bells are degraded); none outlives a heard change.

    ``topic`` names the bell that tells of a key's changes, ``read`` reads it. All who ask for a key at one moment
    share one read. Nothing that is given may be changed by its caller.
    """

    def __init__(
        self,
        *,
        topic: Callable[[K], str],
        read: Callable[[K], Awaitable[V]],
        bells: Bells,
        clock: Clock,
        limit: int = 4_096,
    ) -> None:
        self._topic = topic
        self._read = read
        self._bells = bells
        self._clock = clock
        self._limit = limit
        self._copies: OrderedDict[K, _Copy] = OrderedDict()
        self._reading: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        """Give the value. Raises what ``read`` raises."""
        while not self._fresh(key):
            reading = self._reading.get(key)
            if reading is None:
                return await asyncio.shield(self._begin(key))
            await asyncio.shield(reading)  # it may have begun before a change that this caller knows of
        self._copies.move_to_end(key)
        return self._copies[key].value  # type: ignore[return-value]

    def has(self, key: K) -> bool:
        """Whether ``get`` would answer without a read of its own."""
        return key in self._reading or self._fresh(key)

    def _fresh(self, key: K) -> bool:
        copy = self._copies.get(key)
        if copy is None:
            return False
        limit = _FRESH_DEGRADED_S if self._bells.degraded else _FRESH_S
        age = self._clock.steady() - copy.read_at
        return age <= limit and not self._bells.moved(self._topic(key), copy.cursor)

    def _begin(self, key: K) -> asyncio.Task[V]:
        """Read on behalf of all who ask at this moment; a caller that gives up does not end it."""
        reading = asyncio.get_running_loop().create_task(self._refresh(key))
        reading.add_done_callback(_retrieve)
        self._reading[key] = reading
        return reading

    async def _refresh(self, key: K) -> V:
        cursor, now = self._bells.cursor(self._topic(key)), self._clock.steady()
        try:
            value = await self._read(key)
        finally:
            del self._reading[key]
        self._copies[key] = _Copy(value, now, cursor)
        self._copies.move_to_end(key)
        while len(self._copies) > self._limit:
            self._copies.popitem(last=False)
        return value


def _retrieve(reading: asyncio.Task[V]) -> None:
    """Take a failure that nobody may be waiting for any more."""
    if not reading.cancelled():
        reading.exception()
