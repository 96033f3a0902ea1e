"""Rings that other replicas have not been told yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgpack

from lakeshore_controlplane.store.bells.local import PAYLOAD_LIMIT
from lakeshore_controlplane.store.bells.port import Ring

LIMIT_BYTES = 4 * 1024 * 1024
_RING_COST = 32
"""What a ring takes beside its texts, about."""

RING_ALL = ""
"""The topic that stands for all."""


class Outgoing:
    """A bounded heap of rings. Too many lose their payloads first, then their names: then everybody is woken."""

    def __init__(self, *, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep about ``limit_bytes``."""
        self._limit = limit_bytes
        self._rings: list[Ring] = []
        self._bytes = 0
        self._all = False

    def __bool__(self) -> bool:
        return self._all or bool(self._rings)

    def add(self, rings: Iterable[Ring]) -> None:
        """Put rings in."""
        if self._all:
            return
        for topic, payload in rings:
            kept = Ring(topic, payload if len(payload) <= PAYLOAD_LIMIT else b"")
            self._rings.append(kept)
            self._bytes += len(topic) + len(kept.payload) + _RING_COST
        if self._bytes > self._limit:
            self._shrink()

    def owe_all(self) -> None:
        """Some rings were lost: the next message wakes everybody, which stands for all that is here as well."""
        self._rings, self._bytes, self._all = [], 0, True

    def take(self) -> bytes:
        """Take everything, as one message."""
        rings = [Ring(RING_ALL)] if self._all else self._rings
        self._rings, self._bytes, self._all = [], 0, False
        packed: bytes = msgpack.packb(rings, unicode_errors="surrogatepass")
        return packed

    def _shrink(self) -> None:
        topics = dict.fromkeys(ring.topic for ring in self._rings)
        self._rings = [Ring(topic) for topic in topics]
        self._bytes = sum(len(topic) + _RING_COST for topic in topics)
        if self._bytes > self._limit // 2:
            self.owe_all()


def parse_message(data: bytes) -> list[Ring]:
    """Read a message of another replica. Anything that is not one rings everything."""
    try:
        rows: Any = msgpack.unpackb(data, unicode_errors="surrogatepass")
        rings = [Ring(topic, payload) for topic, payload in rows]
    except (ValueError, TypeError, msgpack.UnpackException):
        return [Ring(RING_ALL)]
    whole = all(isinstance(ring.topic, str) and isinstance(ring.payload, bytes) for ring in rings)
    return rings if whole else [Ring(RING_ALL)]
