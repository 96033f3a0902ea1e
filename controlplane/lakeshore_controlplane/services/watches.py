"""Watches: named sets of invocations that this replica keeps for a client, who is told of them as they end."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.faults import BadRequest, RateLimited
from lakeshore_controlplane.services.finishers import Finishers
from lakeshore_controlplane.services.topics import Outcome, outcome_of
from lakeshore_controlplane.store.mongo.outcomes import OutcomeStore

PER_WATCH = 100_000
IN_ALL = 1_000_000
EXPIRES_S = 120.0
_TIDY_S = 30.0
_MOST_TOLD = 10_000
_MOST_BYTES = 8 * 1024 * 1024
_KEPT_BYTES = 8 * 1024 * 1024
"""Bytes of outcomes that one watch keeps for a client that does not ask; the rest is read again from the rows."""
_READ_TOGETHER = 100


class Told(NamedTuple):
    """What ended of a watch since it was last told. ``more``: there is more to tell at once.

    ``known`` is False for a watch that is new here. ``number`` is that of the last answer that told something.
    """

    ended: list[Outcome]
    known: bool
    number: int
    more: bool = False


class _Watch:
    """One client's set. ``ended`` maps to None what must be read again."""

    def __init__(self) -> None:
        self.pending: set[str] = set()
        self.ended: dict[str, Outcome | None] = {}
        self.kept_bytes = 0
        self.last: list[Outcome] = []
        self.number = 0
        self.turn = 0
        self.asked_at = 0.0
        self.wake: asyncio.Future[None] | None = None

    @property
    def size(self) -> int:
        return len(self.pending) + len(self.ended)

    def tell(self, outcome: Outcome | None) -> None:
        """Take an end in: what ``Finishers`` calls."""
        if outcome is not None and outcome.id in self.pending:
            self.pending.discard(outcome.id)
            self.keep(outcome)
        self.rouse()

    def keep(self, outcome: Outcome) -> None:
        size = _size(outcome)
        fits = self.kept_bytes + size <= _KEPT_BYTES
        self.ended[outcome.id] = outcome if fits else None
        self.kept_bytes += size if fits else 0

    def drop(self, told: Sequence[Outcome]) -> None:
        """Forget what has been told."""
        for outcome in told:
            kept = self.ended.pop(outcome.id, None)
            self.kept_bytes -= 0 if kept is None else _size(kept)

    def rouse(self) -> None:
        if self.wake is not None and not self.wake.done():
            self.wake.set_result(None)


class Watches:
    """Keeps watches: at most so many ids in each and in all, none longer than its client asks for it."""

    def __init__(
        self,
        *,
        finishers: Finishers,
        rows: OutcomeStore,
        clock: Clock,
        stopping: Callable[[], bool],
        per_watch: int = PER_WATCH,
        in_all: int = IN_ALL,
    ) -> None:
        self._finishers = finishers
        self._rows = rows
        self._clock = clock
        self._stopping = stopping
        self._per_watch = per_watch
        self._in_all = in_all
        self._watches: OrderedDict[tuple[str, str], _Watch] = OrderedDict()
        self._tidying: asyncio.TimerHandle | None = None

    async def wait(
        self, namespace: str, name: str, ids: Sequence[str], *, ack: int | None = None, timeout_s: float = 0.0
    ) -> Told:
        """Add ``ids``, then tell what ended of the whole watch, waiting up to ``timeout_s`` for the first.

        An id that nobody submitted yet is watched on; one that was told and is added again is told again.
        ``ack`` is the number of the last answer that arrived: what an answer lost on its way told is told again.
        Without it every answer is taken to have arrived. Of two requests at once the later one is told.
        """
        watch, known = self._open((namespace, name), ack)
        watch.turn += 1
        turn = watch.turn
        watch.rouse()
        await self._add(namespace, watch, ids)
        if timeout_s <= 0 and watch.pending:
            await self._finishers.catch_up(namespace, [*watch.pending])
        await self._pause(watch, timeout_s)
        if watch.turn != turn:
            return Told([], known, watch.number)
        return await self._tell(namespace, watch, known)

    def _open(self, key: tuple[str, str], ack: int | None) -> tuple[_Watch, bool]:
        self.tidy()
        watch = self._watches.get(key)
        known = watch is not None
        if watch is None:
            watch = self._watches[key] = _Watch()
            if self._tidying is None:
                self._tidying = asyncio.get_running_loop().call_later(_TIDY_S, self._tidy_on)
        self._watches.move_to_end(key)
        watch.asked_at = self._clock.steady()
        lost, watch.last = watch.last, []
        if ack is not None and ack < watch.number:
            for outcome in lost:
                watch.keep(outcome)
        return watch, known

    async def _add(self, namespace: str, watch: _Watch, ids: Sequence[str]) -> None:
        new = [
            inv_id
            for inv_id in dict.fromkeys(ids)
            if inv_id not in watch.pending and inv_id not in watch.ended
        ]
        if not new:
            return
        if watch.size + len(new) > self._per_watch:
            raise BadRequest(
                f"a watch holds at most {self._per_watch} invocations: wait for some of them before adding more"
            )
        if sum(other.size for other in self._watches.values()) + len(new) > self._in_all:
            raise RateLimited("too many invocations are waited for on this replica", retry_after_s=1.0)
        watch.pending.update(new)
        self._finishers.expect(namespace, new, watch.tell)
        await self._finishers.look(namespace, new)

    async def _pause(self, watch: _Watch, timeout_s: float) -> None:
        """Wait until something ended, another request of the watch came, or this replica stops."""
        if watch.ended or timeout_s <= 0 or self._stopping():
            return
        wake = watch.wake = asyncio.get_running_loop().create_future()
        await asyncio.wait([wake], timeout=timeout_s)
        watch.asked_at = self._clock.steady()

    async def _tell(self, namespace: str, watch: _Watch, known: bool) -> Told:
        some = dict(islice(watch.ended.items(), _MOST_TOLD))
        told = [outcome for outcome in some.values() if outcome is not None]
        if len(told) < len(some):
            await self._read_again(namespace, watch, [i for i, kept in some.items() if kept is None], told)
        watch.drop(told)
        watch.last = told
        watch.number += bool(told)
        return Told(told, known, watch.number, bool(watch.ended))

    async def _read_again(self, namespace: str, watch: _Watch, ids: list[str], told: list[Outcome]) -> None:
        """Read outcomes that were too large to keep, as many as an answer may hold."""
        size = sum(map(_size, told))
        for start in range(0, len(ids), _READ_TOGETHER):
            if size >= _MOST_BYTES:
                return
            gone = dict.fromkeys(ids[start : start + _READ_TOGETHER])
            async for row in self._rows.outcomes(namespace, [*gone], ended_only=True):
                outcome = outcome_of(row)
                del gone[outcome.id]
                told.append(outcome)
                size += _size(outcome)
                if size >= _MOST_BYTES:
                    return
            self._wait_anew(namespace, watch, [*gone])

    def _wait_anew(self, namespace: str, watch: _Watch, ids: list[str]) -> None:
        """Watch on what was purged meanwhile: it is as if nobody had submitted it."""
        for inv_id in ids:
            watch.ended.pop(inv_id, None)
        watch.pending.update(ids)
        self._finishers.expect(namespace, ids, watch.tell)

    def tidy(self) -> None:
        """Forget watches that nobody asked for lately."""
        longest_ago = self._clock.steady() - EXPIRES_S
        while self._watches:
            key = next(iter(self._watches))
            watch = self._watches[key]
            if watch.asked_at > longest_ago:
                return
            del self._watches[key]
            self._finishers.forget(key[0], watch.pending, watch.tell)

    def _tidy_on(self) -> None:
        self.tidy()
        self._tidying = (
            asyncio.get_running_loop().call_later(_TIDY_S, self._tidy_on) if self._watches else None
        )

    async def close(self) -> None:
        """Forget everything."""
        if self._tidying is not None:
            self._tidying.cancel()
            self._tidying = None
        self._watches.clear()


def _size(outcome: Outcome) -> int:
    """Count an outcome's bytes, about."""
    error = 0 if outcome.error is None else sum(len(str(text)) for text in outcome.error.values())
    return 200 + len(outcome.result or b"") + error
