"""The wake-ups of a queue, as far as a worker needs them."""

from __future__ import annotations

from collections.abc import Callable

from dreamlake.lakeshore.dispatch.plane import Listener
from dreamlake.lakeshore.errors import DispatchError, PlaneLostError
from dreamlake.lakeshore.worker.slots import Slots

LONG_S = 0.5
"""Seconds after which a body runs for long enough that its cancel should be heard of."""
_AGAIN_S = 1.0


class Hearing:
    """Listens always, or (``sparing``) only while bodies run for long: then what may come is a cancel, not work."""

    def __init__(self, listen: Callable[[], Listener], slots: Slots, *, sparing: bool) -> None:
        self._listen = listen
        self._slots = slots
        self._sparing = sparing
        self._listener: Listener | None = None if sparing else listen()
        self._not_before = 0.0

    @property
    def has_descriptor(self) -> bool:
        """Whether wake-ups come by themselves, so that nothing must be polled."""
        return self._listener is not None and self._listener.fileno() >= 0

    def begin(self) -> None:
        """Let ``Slots.wait`` give this object when something happened."""
        if self._listener is not None and self._listener.fileno() >= 0:
            self._slots.watch(self._listener.fileno(), self)

    def attend(self, now: float) -> bool:
        """Begin to listen when a body runs for long; True when it has just begun, so that nothing earlier was heard."""
        if not self._sparing or self._listener is not None or now < self._not_before:
            return False
        if self.next_in(now) > 0:
            return False
        try:
            self._listener = self._listen()
        except PlaneLostError:
            raise
        except DispatchError:  # renewals say so in the log
            self._not_before = now + _AGAIN_S
            return False
        self.begin()
        return True

    def next_in(self, now: float) -> float:
        """Seconds until ``attend`` may have something to do; infinity when not."""
        if not self._sparing or self._listener is not None:
            return float("inf")
        busy = [slot.running() for slot in self._slots if not slot.is_idle]
        # Of one whose start is not noted yet, only this much is known: it will not have run for long before.
        limits = [LONG_S if found is None else found[1] + LONG_S - now for found in busy]
        return max(0.0, min(limits), self._not_before - now) if limits else float("inf")

    def rest(self) -> None:
        """Listen no longer where nothing runs."""
        if self._sparing and self._listener is not None and all(slot.is_idle for slot in self._slots):
            self.close()

    def hear(self) -> None:
        """Take note of a wake-up."""
        if self._listener is not None:
            self._listener.wait(0)

    def close(self) -> None:
        """Stop listening."""
        listener, self._listener = self._listener, None
        if listener is not None:
            if listener.fileno() >= 0:
                self._slots.unwatch(listener.fileno())
            listener.close()
