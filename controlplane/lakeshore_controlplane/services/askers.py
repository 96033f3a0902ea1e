"""Those who wait for one answer, and whether any of them is still there to take it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Asker(Protocol):
    """Who asked, as far as can be told: a connection that was cut without a word counts as there."""

    def watch(self, left: Callable[[], None]) -> None:
        """Call ``left`` once, as soon as it is known that nobody is there any more."""

    async def has_left(self) -> bool:
        """Whether nobody is there any more."""


class Askers:
    """The same question asked several times: all have left when each has."""

    __slots__ = ("_all", "_left")

    def __init__(self, first: Asker) -> None:
        self._all = [first]
        self._left: Callable[[], None] | None = None

    def add(self, other: Asker) -> None:
        """Take in one more."""
        self._all.append(other)
        if self._left is not None:
            other.watch(self._left)

    def watch(self, left: Callable[[], None]) -> None:
        """Call ``left`` whenever one of them goes: ask ``has_left`` then."""
        self._left = left
        for one in self._all:
            one.watch(left)

    async def has_left(self) -> bool:
        """Whether all have left."""
        for one in self._all:
            if not await one.has_left():
                return False
        return True
