"""Claims that are asked for ahead, where the plane can: the question waits there, and ends of bodies ride on it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from dreamlake.lakeshore.dispatch.plane import Claimed
from dreamlake.lakeshore.worker.backlog import Backlog
from dreamlake.lakeshore.worker.leases import Leases
from dreamlake.lakeshore.worker.outbox import DoneReport
from dreamlake.lakeshore.worker.slots import Slots

MOST = 1000
"""Claims that one question asks for at most."""
_SETTLED_S = 0.5
_AT_ONCE_S = 1.0
_LINGER_S = 0.005
"""Seconds to wait for an end to ride on the next question, after an answer that took all the work there was."""


class Asking:
    """At most one question at a time; ``Slots.wait`` gives this object when its answer comes."""

    def __init__(self, leases: Leases, backlog: Backlog, slots: Slots) -> None:
        self._leases = leases
        self._backlog = backlog
        self._slots = slots
        self._polls = leases.open_polls()
        self._riders: Sequence[DoneReport] = ()
        self._watched = -1
        self._asked_at = 0.0
        self._wanted = 0
        self._linger_until = 0.0

    @property
    def possible(self) -> bool:
        """Whether the plane can be asked ahead; else it is asked when there may be work, and answers at once."""
        return self._polls is not None

    @property
    def waiting(self) -> bool:
        """Whether a question is open."""
        return self._watched >= 0

    def next_in(self, now: float) -> float:
        """Seconds until the next question may be asked; infinity while one is open."""
        if self.waiting:
            return math.inf
        if self._backlog:
            return self._backlog.next_in(now)
        return max(0.0, self._linger_until - now)

    def found_nothing(self, now: float) -> bool:
        """Whether a question is open for so long that there is no work at this moment."""
        return self.waiting and now - self._asked_at > _SETTLED_S

    def begin(self, wanted: int) -> bool:
        """Ask for up to ``wanted`` claims; False when the plane does not answer now."""
        if self._polls is None:
            return False
        riders = self._backlog.take_riders()
        self._asked_at = time.monotonic()
        self._wanted = wanted
        if not self._leases.ask(self._polls, min(wanted, MOST), riders):
            self._backlog.put_back(riders, refused=True)
            return False
        self._riders = riders
        self._watched = self._polls.fileno()
        self._slots.watch(self._watched, self)
        return True

    def take(self) -> tuple[list[Claimed] | None, bool]:
        """Take the answer: the claims, or None when there is no answer; and whether to ask again at once."""
        self._close()
        if self._polls is None:
            return None, False
        riders, self._riders = self._riders, ()
        found = self._leases.asked(self._polls, riders)
        if found is None:
            self._backlog.put_back(riders, refused=True)
            return None, False
        now = time.monotonic()
        self._linger_until = now + _LINGER_S if 0 < len(found) < min(self._wanted, MOST) else 0.0
        return found, bool(found) or now - self._asked_at > _AT_ONCE_S

    def withdraw(self) -> None:
        """Take the question back, and the ends that ride on it: they may have arrived, and are sent again."""
        if self._polls is not None and self.waiting:
            self._close()
            self._polls.hang_up()
            riders, self._riders = self._riders, ()
            self._leases.forget(riders)
            self._backlog.put_back(riders, refused=False)

    def _close(self) -> None:
        if self._watched >= 0:
            self._slots.unwatch(self._watched)
            self._watched = -1
