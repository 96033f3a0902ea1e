"""What a lane does, whatever holds it.

A lane remembers three things of a queue: which rows are *ready* (in claim order), which are *waiting* for a time,
and which are *held* under a lease until a time. It may forget everything and may be wrong: whoever takes an id from
it updates the row under a guard, and what does not match is dropped. A lane that forgot says that it is cold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class QueueKey(NamedTuple):
    """A queue of a namespace; ``str`` gives ``namespace/queue``, the hash tag of its keys."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Entry(NamedTuple):
    """A queued row's place. ``attention_at``: plane time at which it wants attention, None when it may start now.

    That is the end of its delay, or its deadline where that comes first. ``order`` is the row's own: lower is older.
    """

    id: str
    priority: float
    order: int
    attention_at: float | None = None


class Taken(NamedTuple):
    """What ``take`` found. ``expired``: held ids whose lease ran out, to be looked at by whoever got them.

    ``cold``: the lane does not know its queue (never filled, flushed, evicted): ask the rows and refill.
    """

    ids: list[str]
    expired: list[str]
    cold: bool


class LaneSizes(NamedTuple):
    """How many ids a lane has of each sort (hints, like all that it says)."""

    ready: int
    waiting: int
    held: int


class Outlook(NamedTuple):
    """What a lane says of a queue's next moments: nothing that can be relied on where it is not ``warm``."""

    warm: bool
    next_due: float | None


class Lane(Protocol):
    """One lane for all queues. Every method raises ``LaneDownError`` when its server does not answer.

    An id is in one place: ready, waiting or held. What changes a queue advances its revision in the same step: every
    ``push`` and ``drop`` of something, a ``take`` that moved or gave something, a ``hold`` of what was not held.
    Bounds: priorities and times are finite, orders are 0 or more and below 2**63, an id has no ``~`` and is ASCII.
    """

    async def push(self, queue: QueueKey, entries: Sequence[Entry]) -> None:
        """Put rows in: ready, or waiting when they have an ``attention_at``. Known ids move to the new place.

        Pushing does not make a cold lane warm. A held id is held no longer.
        """

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
        """In one atomic step: let what waited until ``now`` be ready, hand out expired holds, pop up to ``n``.

        Order: ``fifo`` and ``priority`` highest priority then lowest order; ``filo`` highest priority then highest
        order; ``boltzmann`` draws a priority level for each id with weight count * exp((level - max) / temperature),
        then takes that level's lowest order. What is popped is held until ``held_until``. At most 100 expired holds
        are handed out at a time; each stays held for 5 s more, so that it comes again when nobody settles it.
        At most 5,000 that waited are let in at a time. A cold lane gives expired holds only: what it has may not be
        all there is, and would be in the wrong order.
        """

    async def hold(self, queue: QueueKey, ids: Iterable[str], until: float) -> None:
        """Hold ids until then, whether they were held or not (a renewal, or a claim that bypassed the lane)."""

    async def drop(self, queue: QueueKey, ids: Iterable[str]) -> None:
        """Forget ids wherever they are: ended, cancelled, or never existed."""

    async def next_due(self, queue: QueueKey) -> float | None:
        """The nearest plane time at which something waiting or held wants attention, or None."""

    async def sizes(self, queue: QueueKey) -> LaneSizes:
        """Count what the lane has of a queue."""

    async def is_warm(self, queue: QueueKey) -> bool:
        """Say whether the lane knows its queue."""

    async def outlook(self, queue: QueueKey) -> Outlook:
        """Say both at once: whether the lane is warm, and its ``next_due``."""

    async def begin_refill(self, queue: QueueKey, owner: str, ttl_s: float) -> bool:
        """Try to become the one who refills; False when somebody else does.

        A cold lane is emptied of ready and waiting ids: then ``push`` every queued row, and ``hold`` every running
        one. Rows stored before this call are found by whoever reads them after it; later ones push themselves.
        A warm lane stays warm and keeps what it has.
        """

    async def end_refill(self, queue: QueueKey, owner: str) -> None:
        """Mark the lane warm and give up the refill.

        It stays cold when a part of it went away meanwhile, or another owner began after this one: ask ``is_warm``.
        """

    async def forget(self, queue: QueueKey) -> None:
        """Drop everything about a queue; it is cold then."""

    async def revision(self, queue: QueueKey, *, advance: bool = False) -> int:
        """The queue's revision number, moved on when ``advance``; a lane that forgot goes on with a higher one.

        It begins at Unix time in microseconds: below 2**53, so exact in JSON too.
        """

    async def close(self) -> None:
        """Release connections."""


class LaneDownError(Exception):
    """The lane's server does not answer; the rows still do."""
