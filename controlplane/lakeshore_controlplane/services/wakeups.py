"""Wake-ups for clients: long polls on topics by cursor."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.names import check_journal, check_queue
from lakeshore_controlplane.services.first_ring import first_ring
from lakeshore_controlplane.services.topics import done_topic, journal_topic, work_topic
from lakeshore_controlplane.store.bells.port import Bells
from lakeshore_controlplane.store.lane.port import QueueKey

_DEGRADED_S = 1.0
"""While rings of other replicas may be lost, everything is said to have moved that often."""


class Wakeups:
    """Waits for bells in the name of clients. A wake-up may be spurious; none is lost."""

    def __init__(self, *, bells: Bells, stopping: Callable[[], bool]) -> None:
        """``stopping()`` says that this replica goes away: every wait is answered then."""
        self._bells = bells
        self._stopping = stopping

    async def wait(
        self, namespace: str, topics: Mapping[str, str | None], *, timeout_s: float = 0.0
    ) -> tuple[dict[str, str], list[str]]:
        """Wait until a topic moved past its cursor; every topic's cursor now, and the topics that moved.

        A cursor of None asks for the cursor alone, at once. Raises ``BadRequest`` for a topic that there is not.
        """
        inner = {topic: _inner(namespace, topic) for topic in topics}
        ends = time.monotonic() + timeout_s
        heard = [self._bells.subscribe(name) for name in inner.values()] if timeout_s > 0 else []
        try:
            while True:
                moved = [
                    topic
                    for topic, cursor in topics.items()
                    if cursor is not None and self._bells.moved(inner[topic], cursor)
                ]
                left = ends - time.monotonic()
                if moved or left <= 0 or None in topics.values() or self._stopping():
                    break
                degraded = self._bells.degraded
                rung = await first_ring(heard, min(left, _DEGRADED_S) if degraded else left)
                if degraded and not rung and left > _DEGRADED_S:
                    moved = [*topics]
                    break
            return {topic: self._bells.cursor(name) for topic, name in inner.items()}, moved
        finally:
            for bell in heard:
                bell.close()


def _inner(namespace: str, topic: str) -> str:
    """Give the bell of a client's topic, which is always one of its own namespace."""
    kind, _, name = topic.partition(":")
    try:
        if topic == "done":
            return done_topic(namespace)
        if kind == "work":
            return work_topic(QueueKey(namespace, check_queue(name)))
        if kind == "journal":
            return journal_topic(namespace, check_journal(name))
    except ValueError as exc:
        raise BadRequest(f"topic {topic[:80]!r}: {exc}") from None
    raise BadRequest(f"topic {topic[:80]!r}: use work:<queue>, done or journal:<id>")
