"""What a lane in memory remembers of one queue."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from sortedcontainers import SortedList

from lakeshore_controlplane.store.lane.boltzmann import pop_boltzmann
from lakeshore_controlplane.store.lane.place import (
    EXPIRED_AGAIN_S,
    EXPIRED_AT_A_TIME,
    ID_AT,
    LET_IN_AT_A_TIME,
    Place,
)
from lakeshore_controlplane.store.lane.port import LaneSizes

_AFTER_ALL = "~"


class MemoryQueue:
    """An id is in one of ``ready``, ``waiting`` and ``held``. Every change is one step on the event loop's thread."""

    def __init__(self) -> None:
        self.ready: SortedList = SortedList()  # (score, member)
        self._waiting: SortedList = SortedList()  # (attention time, member)
        self._held: SortedList = SortedList()  # (until, id)
        self._until: dict[str, float] = {}
        self._places: dict[str, Place] = {}
        self._revision: int | None = None
        self._owner = ""
        self._owned_until = 0.0
        self._filling = ""
        self.warm = False

    def push(self, places: Iterable[Place]) -> None:
        """Put ids in, wherever they were."""
        for place in places:
            self._displace(place.id)
            self._release(place.id)
            self._places[place.id] = place
            if place.attention_at:
                self._waiting.add((float(place.attention_at), place.waiting_member))
            else:
                self.ready.add((float(place.score), place.ready_member))
        self.revision(advance=True)

    def expire(self, now: float) -> list[str]:
        """Give ids whose hold ran out, and hold them a little longer."""
        end = self._held.bisect_left((math.nextafter(now, math.inf), ""))
        expired = [inv_id for _, inv_id in self._held[: min(end, EXPIRED_AT_A_TIME)]]
        for inv_id in expired:
            self._hold(inv_id, now + EXPIRED_AGAIN_S)
        return expired

    def let_in(self, now: float) -> int:
        """Let what waited until now be ready; gives how many."""
        end = self._waiting.bisect_left((math.nextafter(now, math.inf), ""))
        due = self._waiting[: min(end, LET_IN_AT_A_TIME)]
        del self._waiting[: len(due)]
        for _, member in due:
            score, ready_member = member[1:].split(":", 1)
            inv_id = ready_member[ID_AT:]
            self._places[inv_id] = self._places[inv_id]._replace(attention_at="")
            self.ready.add((float(score), ready_member))
        return len(due)

    def pop(self, n: int, kind: str, temperature: float, seed: int, held_until: float) -> list[str]:
        """Pop up to ``n`` ids in the kind's order, and hold them."""
        if kind == "boltzmann":
            members = pop_boltzmann(self.ready, n, temperature, seed)
        elif kind == "filo":
            members = self._pop_last(n)
        else:
            members = [member for _, member in self.ready[: max(n, 0)]]
            del self.ready[: len(members)]
        ids = [member[ID_AT:] for member in members]
        for inv_id in ids:
            del self._places[inv_id]
            self._hold(inv_id, held_until)
        return ids

    def hold(self, ids: Iterable[str], until: float) -> None:
        """Hold ids wherever they were."""
        fresh = [inv_id for inv_id in ids if self._hold(inv_id, until)]
        for inv_id in fresh:
            self._displace(inv_id)
        if fresh:
            self.revision(advance=True)

    def drop(self, ids: Iterable[str]) -> None:
        """Forget ids wherever they are."""
        for inv_id in ids:
            self._displace(inv_id)
            self._release(inv_id)
        self.revision(advance=True)

    def begin_refill(self, owner: str, ttl_s: float) -> bool:
        """Become the one who refills; a cold queue is emptied for it."""
        now = time.monotonic()
        if self._owner not in ("", owner) and now < self._owned_until:
            return False
        self._owner, self._owned_until, self._filling = owner, now + ttl_s, owner
        if not self.warm:
            self.ready.clear()
            self._waiting.clear()
            self._places.clear()
        return True

    def end_refill(self, owner: str) -> None:
        """Become warm, when it was this owner who filled last."""
        if self._filling == owner:
            self.warm, self._filling = True, ""
        if self._owner == owner:
            self._owner = ""

    def next_due(self) -> float | None:
        """The nearest time of what waits or is held."""
        return min((times[0][0] for times in (self._waiting, self._held) if times), default=None)

    def sizes(self) -> LaneSizes:
        """Count each sort."""
        return LaneSizes(len(self.ready), len(self._waiting), len(self._held))

    def revision(self, *, advance: bool) -> int:
        """The revision number: it begins at the time in microseconds, above all that it ever was."""
        if self._revision is None:
            self._revision = time.time_ns() // 1000
        self._revision += advance
        return self._revision

    def _pop_last(self, n: int) -> list[str]:
        popped: list[str] = []
        while len(popped) < n and self.ready:
            end = self.ready.bisect_left((self.ready[0][0], _AFTER_ALL))
            start = max(end - (n - len(popped)), 0)
            popped += [member for _, member in reversed(self.ready[start:end])]
            del self.ready[start:end]
        return popped

    def _hold(self, inv_id: str, until: float) -> bool:
        """Give whether it was not held before."""
        fresh = not self._release(inv_id)
        self._until[inv_id] = until
        self._held.add((until, inv_id))
        return fresh

    def _release(self, inv_id: str) -> bool:
        until = self._until.pop(inv_id, None)
        if until is None:
            return False
        self._held.remove((until, inv_id))
        return True

    def _displace(self, inv_id: str) -> None:
        place = self._places.pop(inv_id, None)
        if place is None:
            return
        if place.attention_at:
            self._waiting.remove((float(place.attention_at), place.waiting_member))
        else:
            self.ready.remove((float(place.score), place.ready_member))
