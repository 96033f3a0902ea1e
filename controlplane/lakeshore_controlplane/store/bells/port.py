"""What bells do, whatever carries them between replicas.

Topics are strings such as ``work:ns/queue``, ``done:ns`` and ``journal:ns/id``. Each ring of a topic has a number that
grows on a replica; a *cursor* is such a number in text, with the replica's generation. A ring may be heard twice or be
spurious, and is never lost to a listener on the replica that rang. Rings from other replicas can be lost while the
carrier is down: ``degraded`` says so, and waiters then look at the rows more often.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Ring(NamedTuple):
    """A topic that rings, with a small payload for those who listen (empty: look at the rows)."""

    topic: str
    payload: bytes = b""


class Subscription(Protocol):
    """One listener on one topic. Made with ``Bells.subscribe``; hears every ring from then on."""

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109
        """Wait up to ``timeout`` seconds for a ring since the last call; False when none came.

        One waiter at a time. A wait that is cancelled loses no ring: the next call hears it.
        """

    def hear(self, payload: bytes) -> None:
        """Ring for this listener alone."""

    def payloads(self) -> list[bytes]:
        """Take the payloads heard since the last call (bounded: when too many came, the list holds b"" first)."""

    def close(self) -> None:
        """Stop listening."""


class Bells(Protocol):
    """Wake-ups for long polls and streams."""

    degraded: bool
    """Whether rings from other replicas may be lost now."""

    def ring(self, rings: Iterable[Ring]) -> None:
        """Ring at once on this replica, and soon on the others. Never raises and never blocks.

        A payload above 4 KiB is left out. Called on the event loop's thread.
        """

    def subscribe(self, topic: str) -> Subscription:
        """Listen from now on."""

    def cursor(self, topic: str) -> str:
        """Where the topic is now. Costs no memory, and may differ from the last one though the topic did not ring."""

    def moved(self, topic: str, cursor: str) -> bool:
        """Whether the topic rang after ``cursor``; True as well when this replica cannot know."""

    def ring_all(self) -> None:
        """Wake every listener (spuriously): after a carrier's outage, and when the server stops."""

    async def start(self) -> None:
        """Begin to carry rings."""

    async def close(self) -> None:
        """Stop."""
