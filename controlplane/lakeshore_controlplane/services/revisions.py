"""The number that tells whether anything about a queue changed."""

from __future__ import annotations

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.store.lane.port import Lane, LaneDownError, QueueKey


class Revisions:
    """Revisions as the lane has them; while it is down, a number that is another one at every moment."""

    def __init__(self, *, lane: Lane, clock: Clock) -> None:
        self._lane = lane
        self._clock = clock

    async def current(self, queue: QueueKey) -> int:
        """Give the revision."""
        return await self.known(queue) or int(self._clock.steady() * 1000)

    async def known(self, queue: QueueKey) -> int | None:
        """Give the revision, or None while nobody knows it."""
        try:
            return await self._lane.revision(queue)
        except LaneDownError:
            return None

    async def advance(self, queue: QueueKey) -> int:
        """Move the revision on, for a change that no lane sees; give the new one."""
        try:
            return await self._lane.revision(queue, advance=True)
        except LaneDownError:
            return int(self._clock.steady() * 1000)
