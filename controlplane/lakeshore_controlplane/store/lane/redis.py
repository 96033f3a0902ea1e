"""A lane in Redis, shared by all replicas. Every method is one script, so one step for everybody."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from lakeshore_controlplane.store.lane.boltzmann import SEEDS
from lakeshore_controlplane.store.lane.place import (
    EXPIRED_AGAIN_S,
    EXPIRED_AT_A_TIME,
    LET_IN_AT_A_TIME,
    bounded_temperature,
    place,
)
from lakeshore_controlplane.store.lane.port import Entry, LaneDownError, LaneSizes, Outlook, QueueKey, Taken
from lakeshore_controlplane.store.redis_link import LinkDownError, RedisLink

_LUA = Path(__file__).parent / "lua"
_KEYS = ("ready", "waiting", "held", "places", "rev", "refill")
_AT_A_TIME = 5_000
"""Ids of one script: a longer list is several, so that Redis is never kept for long."""


class _Look(NamedTuple):
    warm: bool
    sizes: LaneSizes
    next_due: float | None


class RedisLane:
    """A ``Lane`` for any number of replicas."""

    def __init__(
        self, link: RedisLink, *, prefix: str = "lakeshore", rng: random.Random | None = None
    ) -> None:
        """Use ``link``, which ``close`` closes. ``rng`` seeds the boltzmann draws."""
        self._link = link
        self._prefix = prefix
        self._rng = rng or random.Random()  # noqa: S311 - a draw of odds, not a secret
        prelude = _source("prelude")
        self._scripts = {
            name: link.client.register_script(
                prelude + (_source("boltzmann") if name == "take" else "") + _source(name)
            )
            for name in (
                "push",
                "take",
                "hold",
                "drop",
                "look",
                "begin_refill",
                "end_refill",
                "revision",
                "forget",
            )
        }

    async def push(self, queue: QueueKey, entries: Sequence[Entry]) -> None:
        """Put rows in. See ``Lane.push``."""
        places = iter({entry.id: place(entry) for entry in entries}.values())
        while some := list(islice(places, _AT_A_TIME)):
            await self._run("push", queue, [part for one in some for part in one])

    async def take(
        self,
        queue: QueueKey,
        n: int,
        *,
        kind: str,
        temperature: float,
        now: float,
        held_until: float,
    ) -> Taken:
        """Pop in order. See ``Lane.take``."""
        times = [repr(held_until), repr(now + EXPIRED_AGAIN_S)]
        limits = [EXPIRED_AT_A_TIME, LET_IN_AT_A_TIME]
        draw = [repr(bounded_temperature(temperature)), *times, *limits, self._rng.choice(SEEDS)]
        ids, expired, cold = await self._run("take", queue, [repr(now), n, kind, *draw])
        return Taken([one.decode() for one in ids], [one.decode() for one in expired], cold == 1)

    async def hold(self, queue: QueueKey, ids: Iterable[str], until: float) -> None:
        """Hold ids. See ``Lane.hold``."""
        left = iter(ids)
        while some := list(islice(left, _AT_A_TIME)):
            await self._run("hold", queue, [repr(until), *some])

    async def drop(self, queue: QueueKey, ids: Iterable[str]) -> None:
        """Forget ids. See ``Lane.drop``."""
        left = iter(ids)
        while some := list(islice(left, _AT_A_TIME)):
            await self._run("drop", queue, some)

    async def next_due(self, queue: QueueKey) -> float | None:
        """The nearest time. See ``Lane.next_due``."""
        return (await self._look(queue)).next_due

    async def sizes(self, queue: QueueKey) -> LaneSizes:
        """Count each sort. See ``Lane.sizes``."""
        return (await self._look(queue)).sizes

    async def is_warm(self, queue: QueueKey) -> bool:
        """Say whether the queue is known whole. See ``Lane.is_warm``."""
        return (await self._look(queue)).warm

    async def outlook(self, queue: QueueKey) -> Outlook:
        """Warmth and the nearest time. See ``Lane.outlook``."""
        found = await self._look(queue)
        return Outlook(found.warm, found.next_due)

    async def begin_refill(self, queue: QueueKey, owner: str, ttl_s: float) -> bool:
        """Become the one who refills. See ``Lane.begin_refill``."""
        return bool(await self._run("begin_refill", queue, [owner, max(1, round(ttl_s * 1000))]))

    async def end_refill(self, queue: QueueKey, owner: str) -> None:
        """Become warm, when nothing went away meanwhile. See ``Lane.end_refill``."""
        await self._run("end_refill", queue, [owner])

    async def forget(self, queue: QueueKey) -> None:
        """Drop everything. See ``Lane.forget``."""
        await self._run("forget", queue, [])

    async def revision(self, queue: QueueKey, *, advance: bool = False) -> int:
        """The revision number. See ``Lane.revision``."""
        return int(await self._run("revision", queue, ["1" if advance else "0"]))

    async def close(self) -> None:
        """Close the link."""
        await self._link.close()

    async def _look(self, queue: QueueKey) -> _Look:
        warm, ready, waiting, held, *times = await self._run("look", queue, [])
        nearest = min(float(one) for one in times)
        return _Look(warm == 1, LaneSizes(ready, waiting, held), None if nearest == float("inf") else nearest)

    async def _run(self, name: str, queue: QueueKey, args: Sequence[Any]) -> Any:
        keys = [f"{self._prefix}:{{{queue}}}:{key}" for key in _KEYS]
        script = self._scripts[name]

        try:
            return await self._link.call(
                lambda _client: self._link.wire.script(script.sha, str(script.script), keys, args)
            )
        except LinkDownError as error:
            raise LaneDownError(str(error)) from error


def _source(name: str) -> str:
    return (_LUA / f"{name}.lua").read_text(encoding="utf-8")
