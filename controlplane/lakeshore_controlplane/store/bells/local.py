"""Bells within one process."""

from __future__ import annotations

from collections.abc import Iterable

from lakeshore_controlplane.store.bells.listener import Listener
from lakeshore_controlplane.store.bells.numbers import REMEMBERED, RingNumbers
from lakeshore_controlplane.store.bells.port import Ring

PAYLOAD_LIMIT = 4096
"""Bytes; a larger payload is left out, and its listeners look at the rows."""


class LocalBells:
    """``Bells`` for a single replica, and what every replica delivers its rings with."""

    degraded = False

    def __init__(self, *, remembered: int = REMEMBERED) -> None:
        """Remember the last ring of this many topics."""
        self._numbers = RingNumbers(remembered=remembered)
        self._listeners: dict[str, list[Listener]] = {}
        self._left = self._leave  # one bound method for all listeners: each takes as much as half a listener

    def ring(self, rings: Iterable[Ring]) -> None:
        """Ring at once. See ``Bells.ring``."""
        for topic, payload in rings:
            self._numbers.note(topic)
            listeners = self._listeners.get(topic)
            if listeners is not None:
                heard = payload if len(payload) <= PAYLOAD_LIMIT else b""
                for listener in listeners:
                    listener.hear(heard)

    def subscribe(self, topic: str) -> Listener:
        """Listen from now on. See ``Bells.subscribe``."""
        listeners = self._listeners.setdefault(topic, [])
        listener = Listener(topic, len(listeners), self._left)
        listeners.append(listener)
        return listener

    def cursor(self, topic: str) -> str:
        """Where the topic is now. See ``Bells.cursor``."""
        return self._numbers.cursor()

    def moved(self, topic: str, cursor: str) -> bool:
        """Whether the topic rang since. See ``Bells.moved``."""
        return self._numbers.moved(topic, cursor)

    def ring_all(self) -> None:
        """Wake every listener. See ``Bells.ring_all``."""
        self._numbers.note_all()
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.hear(b"")

    async def start(self) -> None:
        """Nothing to begin."""

    async def close(self) -> None:
        """Nothing to stop."""

    def _leave(self, listener: Listener) -> None:
        # The last one takes its slot, so that leaving costs the same among ten and ten thousand.
        listeners = self._listeners[listener.topic]
        last = listeners.pop()
        if last is not listener:
            listeners[listener.slot] = last
            last.slot = listener.slot
        elif not listeners:
            del self._listeners[listener.topic]
