"""Queues: declared, changed, moved through their lifecycle, listed, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Queue
from lakeshore_controlplane.faults import NotFound, Refused
from lakeshore_controlplane.services.queue_book import undeclared
from lakeshore_controlplane.services.queue_policies import check_state, checked_changes
from lakeshore_controlplane.services.revisions import Revisions
from lakeshore_controlplane.services.topics import change_topic, queue_topic, work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import Lane, QueueKey
from lakeshore_controlplane.store.mongo.database import Document
from lakeshore_controlplane.store.mongo.queues import QueueRows

_AT_A_TIME = 16
"""Queues of a list that are looked at together."""


class Queues:
    """Queues as the HTTP contract shows them. Names are checked by the caller."""

    def __init__(self, *, rows: QueueRows, lane: Lane, bells: Bells, clock: Clock) -> None:
        self._rows = rows
        self._bells = bells
        self._clock = clock
        self._revisions = Revisions(lane=lane, clock=clock)

    async def declare(self, namespace: str, name: str, fields: Mapping[str, object]) -> dict[str, object]:
        """Create the queue, or change what is given; its lifecycle state stays. Raises ``BadRequest``.

        A declaration says the whole order of claims: without ``kind`` it is fifo, without ``kind_params`` there
        are none.
        """
        order = {"kind": "fifo", "kind_params": {}}
        given = {field: value for field, value in fields.items() if value is not None}
        changes = {**checked_changes({**order, **given}), "declared": True}
        fresh = cast("Document", undeclared(QueueKey(namespace, name), self._clock.steady()))
        found = await self._rows.put(changes, fresh)
        return shown(found, await self._tell(QueueKey(namespace, name)))

    async def change(self, namespace: str, name: str, fields: Mapping[str, object]) -> dict[str, object]:
        """Change what is given of a queue that is there. Raises ``BadRequest`` and ``NotFound``."""
        return await self._set(QueueKey(namespace, name), checked_changes(fields))

    async def set_state(self, namespace: str, name: str, state: str) -> dict[str, object]:
        """Move a queue through its lifecycle. Raises ``BadRequest`` and ``NotFound``."""
        check_state(state)
        return await self._set(QueueKey(namespace, name), {"state": state})

    async def get(self, namespace: str, name: str) -> dict[str, object] | None:
        """Give a queue that is declared or has rows, or None."""
        queue = QueueKey(namespace, name)
        found = await self._rows.find(queue)
        return None if found is None else await self._shown_if_there(found)

    async def list(self, namespace: str) -> list[dict[str, object]]:
        """List declared queues and those that have rows, by name."""
        found = await self._rows.of_namespace(namespace)
        shown: list[dict[str, object] | None] = []
        for begin in range(0, len(found), _AT_A_TIME):
            some = found[begin : begin + _AT_A_TIME]
            shown += await asyncio.gather(*(self._shown_if_there(known) for known in some))
        return [queue for queue in shown if queue is not None]

    async def delete(self, namespace: str, name: str) -> None:
        """Delete a queue that has no rows. Raises ``NotFound``, and ``Refused`` while it has some."""
        queue = QueueKey(namespace, name)
        if await self._rows.find(queue) is None:
            raise no_such_queue(name)
        if await self._rows.has_rows(queue):
            raise Refused(
                f"queue {name!r} still has invocations: archive it, and delete it when they are purged"
            )
        await self._rows.delete(queue)
        await self._tell(queue)

    async def _set(self, queue: QueueKey, changes: Document) -> dict[str, object]:
        found = await self._rows.change(queue, {**changes, "declared": True})
        if found is None:
            raise no_such_queue(queue.name)
        return shown(found, await self._tell(queue))

    async def _tell(self, queue: QueueKey) -> int:
        """Let copies be read anew, and workers, submitters and controllers look again."""
        revision = await self._revisions.advance(queue)
        topics = (queue_topic(queue), work_topic(queue), change_topic(queue))
        self._bells.ring([Ring(topic) for topic in topics])
        return revision

    async def _shown_if_there(self, known: Queue) -> dict[str, object] | None:
        queue = QueueKey(known["namespaceId"], known["name"])
        if not known["declared"] and not await self._rows.has_rows(queue):
            return None
        return shown(known, await self._revisions.current(queue))


def no_such_queue(name: str) -> NotFound:
    """Make the refusal that names a queue that nobody knows."""
    return NotFound(f"there is no queue {name!r}: declare it with `lakeshore queues add {name}`")


def shown(known: Queue, revision: int) -> dict[str, object]:
    """Give a queue's form in the HTTP contract."""
    return {
        "name": known["name"],
        "kind": known["kind"],
        "kind_params": known["kindParams"],
        "state": known["state"],
        "declared": known["declared"],
        "admission": known["admission"],
        "elasticity": known["elasticity"],
        "retention_s": known["retentionS"],
        "legacy_lease_s": known["legacyLeaseS"],
        "revision": revision,
    }
