"""When topics rang last, in bounded memory."""

from __future__ import annotations

import secrets
from collections import OrderedDict

REMEMBERED = 100_000
"""Topics whose last ring is known by name."""


class RingNumbers:
    """Numbers every ring of a replica; a cursor is the newest number at some moment.

    Topics that rang long ago are forgotten, and all that is kept of them is the newest of their numbers: a cursor
    older than that may have missed a ring, so it counts as moved. A topic that never rang takes no memory.
    """

    def __init__(self, *, remembered: int = REMEMBERED) -> None:
        """Remember the last ring of this many topics."""
        self._generation = secrets.token_hex(8)
        self._remembered = remembered
        self._newest = 0
        self._forgotten = 0
        self._last: OrderedDict[str, int] = OrderedDict()

    def note(self, topic: str) -> None:
        """The topic rings now."""
        self._newest += 1
        self._last[topic] = self._newest
        self._last.move_to_end(topic)
        if len(self._last) > self._remembered:
            self._forgotten = self._last.popitem(last=False)[1]

    def note_all(self) -> None:
        """Every topic may have rung."""
        self._newest += 1
        self._forgotten = self._newest
        self._last.clear()

    def cursor(self) -> str:
        """Where every topic is now."""
        return f"{self._generation}.{self._newest}"

    def moved(self, topic: str, cursor: str) -> bool:
        """Whether the topic rang after ``cursor``, or may have."""
        generation, _, number = cursor.partition(".")
        if generation != self._generation or not (number.isascii() and number.isdigit() and len(number) < 20):
            return True
        return self._last.get(topic, self._forgotten) > int(number)
