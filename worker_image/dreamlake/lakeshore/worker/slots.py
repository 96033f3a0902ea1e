"""The slots of one worker, and the one place where its loop waits for what happens."""

from __future__ import annotations

import contextlib
import selectors
from collections.abc import Iterator
from typing import Any

from dreamlake.lakeshore.worker.slot import Slot


class Slots:
    """Slots, and other things with a descriptor, that are waited for together."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._slots: list[Slot] = []
        self._selector = selectors.DefaultSelector()
        self._asked: dict[Slot, int] = {}

    def __iter__(self) -> Iterator[Slot]:
        return iter(list(self._slots))

    def __contains__(self, slot: object) -> bool:
        return slot in self._slots

    def watch(self, fd: int, owner: object) -> None:
        """Wait for this descriptor too; ``wait`` then gives ``owner``."""
        self._selector.register(fd, selectors.EVENT_READ, owner)

    def unwatch(self, fd: int) -> None:
        """Wait for this descriptor no more; one that is not waited for is left alone."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(fd)

    def add(self) -> None:
        """Start another slot."""
        slot = Slot(self._settings)
        self._slots.append(slot)
        if slot.death_fd >= 0:
            self._selector.register(slot.death_fd, selectors.EVENT_READ, slot)

    def remove(self, slot: Slot) -> None:
        """Wait for this one no more."""
        self._slots.remove(slot)
        self._ask(slot, 0)
        if slot.death_fd >= 0:
            self._selector.unregister(slot.death_fd)

    def wait(self, timeout: float, *, reading: bool) -> list[Any]:
        """Wait up to ``timeout`` seconds; the owners of what became readable, each once.

        A slot is given when it said something (where ``reading``) or when its process has ended.
        """
        for slot in self._slots:
            events = selectors.EVENT_READ if reading else 0
            self._ask(slot, events | (selectors.EVENT_WRITE if slot.channel.has_unsent else 0))
        owners: dict[Any, None] = {}
        for key, mask in self._selector.select(timeout):
            if mask & selectors.EVENT_WRITE:
                key.data.channel.flush()
            if mask & selectors.EVENT_READ:
                owners[key.data] = None
        return list(owners)

    def _ask(self, slot: Slot, events: int) -> None:
        before = self._asked.get(slot, 0)
        if events == before:
            return
        if not before:
            self._selector.register(slot.channel, events, slot)
        elif events:
            self._selector.modify(slot.channel, events, slot)
        else:
            self._selector.unregister(slot.channel)
        self._asked[slot] = events
        if not events:
            del self._asked[slot]

    def close(self) -> None:
        """Free the selector; the slots must have been closed."""
        self._selector.close()
