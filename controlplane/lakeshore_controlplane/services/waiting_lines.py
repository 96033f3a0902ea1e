"""Polls that wait, in a line for each queue: whatever happens there, one of them looks, and not all at once.

A ring calls the first in line. One that found work calls two more, one that found none calls nobody: so a thousand
polls take a thousand jobs in ten turns, and one job costs three looks at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence

from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.services.topics import work_topic
from lakeshore_controlplane.store.bells.port import Bells, Subscription
from lakeshore_controlplane.store.lane.port import QueueKey

_LOOK_AGAIN_S = 5.0
_LOOK_AGAIN_DEGRADED_S = 0.5
"""Seconds after which one poll looks though nothing rang: while bells tell of changes, and while they may not."""
_SHORTEST_S = 0.005
_SETTLE_S = 0.01
_APART_S = 0.1
"""Seconds for which changes of a queue gather before its next due time is asked for, and between two such questions."""
_FOUND_CALLS = 2

NextDue = Callable[[QueueKey], Awaitable[float | None]]
"""Seconds until something in the queue wants a claim, or None."""


class Lines:
    """The lines of one replica. A line is there while a poll waits in it."""

    def __init__(self, *, bells: Bells, next_due: NextDue) -> None:
        self.bells = bells
        self.next_due = next_due
        self.of: dict[QueueKey, Line] = {}

    def looked(self, queue: QueueKey, *, found: bool) -> None:
        """Note that some poll claimed: where there was work, there may be more, and later a lease to look after."""
        line = self.of.get(queue)
        if line is not None and found:
            line.call(_FOUND_CALLS)
            line.changed.set()

    def open(self, queue: QueueKey) -> Line:
        """Give the queue's line."""
        line = self.of.get(queue)
        if line is None:
            line = self.of[queue] = Line(self, queue)
        line.places += 1
        return line

    def leave(self, line: Line) -> None:
        """Give a line back; the last one closes it."""
        line.places -= 1
        if line.places == 0:
            del self.of[line.queue]
            line.close()


class Line:
    """The polls that wait for work of one queue, the longest waiting first."""

    def __init__(self, lines: Lines, queue: QueueKey) -> None:
        self.queue = queue
        self.places = 0
        self.changed = asyncio.Event()
        self._lines = lines
        self._waiting: dict[Place, None] = {}
        self._bell = lines.bells.subscribe(work_topic(queue))
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._hear()), loop.create_task(self._keep_time())]

    def stand(self, place: Place) -> None:
        """Let a poll wait at the end of the line, or where it stands already."""
        self._waiting.setdefault(place)

    def step_out(self, place: Place) -> None:
        """Let a poll wait here no longer."""
        self._waiting.pop(place, None)

    def call(self, n: int) -> None:
        """Let the first ``n`` look."""
        for place in [place for place, _ in zip(self._waiting, range(n), strict=False)]:
            del self._waiting[place]
            place.calls.add(self.queue)
            place.bell.hear(b"")

    def close(self) -> None:
        """Stop listening."""
        self._bell.close()
        for task in self._tasks:
            task.cancel()

    async def _hear(self) -> None:
        while True:
            if await self._bell.wait(60.0):
                self._bell.payloads()
                self.call(1)
                self.changed.set()

    async def _keep_time(self) -> None:
        """Call one when something falls due, and now and then though nothing does."""
        asked_at = -_APART_S
        while True:
            await asyncio.sleep(max(_SETTLE_S, asked_at + _APART_S - time.monotonic()))
            self.changed.clear()
            asked_at = time.monotonic()
            due = None
            with contextlib.suppress(StoreUnavailable):
                due = await self._lines.next_due(self.queue)
            again_s = _LOOK_AGAIN_DEGRADED_S if self._lines.bells.degraded else _LOOK_AGAIN_S
            limit_s = again_s if due is None else min(again_s, max(due, _SHORTEST_S))
            try:
                async with asyncio.timeout(limit_s):
                    await self.changed.wait()
            except TimeoutError:
                self.call(1)


class Place:
    """One poll in the lines of its queues: ``bell`` is rung when it shall look, ``calls`` says where."""

    __slots__ = ("_lines", "_open", "_queues", "bell", "calls")

    def __init__(self, lines: Lines, queues: Sequence[QueueKey], bell: Subscription) -> None:
        self._lines = lines
        self._queues = queues
        self._open: list[Line] = []
        self.bell = bell
        self.calls: set[QueueKey] = set()

    def looked(self, queue: QueueKey, *, found: bool) -> None:
        """Note that the poll claimed from a queue."""
        self.calls.discard(queue)
        self._lines.looked(queue, found=found)

    def stand(self) -> None:
        """Wait in every line. What rings from now on is heard; what rang before is not."""
        if not self._open:
            self._open = [self._lines.open(queue) for queue in self._queues]
        for line in self._open:
            if line.queue not in self.calls:
                line.stand(self)

    def step_aside(self) -> None:
        """Wait in no line; who is behind looks in place of this one, where it was called."""
        for line in self._open:
            line.step_out(self)
            if line.queue in self.calls:
                line.call(1)
        self.calls.clear()

    def leave(self) -> None:
        """Be gone."""
        self.step_aside()
        opened, self._open = self._open, []
        for line in opened:
            self._lines.leave(line)
