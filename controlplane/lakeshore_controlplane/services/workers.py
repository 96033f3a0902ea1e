"""The register of workers: who is there, what each holds, who shall take nothing more."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Worker, WorkerState
from lakeshore_controlplane.faults import NotFound
from lakeshore_controlplane.services.copies import Copies
from lakeshore_controlplane.services.topics import work_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.database import Document
from lakeshore_controlplane.store.mongo.workers import WorkerKey, WorkerRows

STALE_S = 60.0
"""Seconds without a sign of life after which a worker is shown as stale."""
FORGOTTEN_S = 86_400.0
"""Seconds without a sign of life after which its record goes."""

_SEEN_EVERY_S = 10.0
"""Seconds between two notes that a worker polled: polls are too many to write each."""
_SAME_START_S = 1.0
"""Difference of two start times within which they may be readings of one."""
_STORED: dict[str, WorkerState] = {"starting": "joining", "active": "active", "draining": "draining"}
_SHOWN = {"pending": "starting", "setting_up": "starting", "joining": "starting"}


class Orders(NamedTuple):
    """What a worker is told when it asks for work. ``drain``: finish and go; ``cordoned``: nothing for now."""

    drain: bool = False
    cordoned: bool = False


def worker_topic(worker: WorkerKey) -> str:
    """The worker's record was changed: cached copies are stale."""
    return f"worker:{worker}"


class Workers:
    """Registers workers and gives orders to them. What a worker holds is counted from the rows."""

    def __init__(self, *, rows: WorkerRows, bells: Bells, clock: Clock) -> None:
        self._rows = rows
        self._bells = bells
        self._clock = clock
        self._copies: Copies[WorkerKey, Worker | None] = Copies(
            topic=worker_topic, read=rows.find, bells=bells, clock=clock
        )
        self._times: dict[WorkerKey, dict[str, float]] = {}
        self._flushing = asyncio.Lock()

    async def hello(
        self,
        namespace: str,
        *,
        worker_id: str,
        queues: list[str],
        host: str = "",
        pid: int = 0,
        state: str = "starting",
        concurrency: int = 1,
        started_at: float | None = None,
        tags: list[str] | None = None,
        machine_id: str | None = None,
        capabilities: dict[str, object] | None = None,
        runners: list[str] | None = None,
    ) -> bool:
        """Register a worker, or note that it lives; whether it shall drain.

        Another process under a known id is a new worker: what was ordered to the old one does not bind it, but a
        cordon stays.
        """
        worker, now = WorkerKey(namespace, worker_id), self._clock.steady()
        known = await self._rows.find(worker)
        same = known is not None and _same_process(known, host, pid, started_at)
        drain = known is not None and same and known["drainRequested"]
        changes: Document = {
            "namespaceId": namespace,
            "state": "draining" if drain else _STORED[state],
            "queues": queues,
            "host": host,
            "pid": pid,
            "concurrency": concurrency,
            "lastSeenAt": now,
            "tags": tags or [],
        }
        given = {"machineId": machine_id, "capabilities": capabilities, "runners": runners}
        changes |= {name: value for name, value in given.items() if value is not None}
        fresh: Document = {"cordoned": False}
        begun = {"startedAt": now if started_at is None else started_at, "idleSince": now}
        if same:
            fresh |= {**begun, "drainRequested": False}
        else:
            changes |= {**begun, "drainRequested": False}
        await self._rows.put(worker, changes, fresh)
        if known is None or not same or known["state"] != changes["state"]:
            self._tell(worker)
        return drain

    async def goodbye(self, namespace: str, worker_id: str) -> None:
        """Forget a worker that has ended; what it held comes back when its leases run out."""
        worker = WorkerKey(namespace, worker_id)
        self._times.pop(worker, None)
        await self._rows.delete(worker)
        self._tell(worker)

    async def at_poll(self, namespace: str, worker_id: str) -> Orders:
        """Note that the worker asks for work, and give its orders. One that never said hello has none."""
        worker, now = WorkerKey(namespace, worker_id), self._clock.steady()
        known = await self._copies.get(worker)
        if known is None:
            return Orders()
        if now - known["lastSeenAt"] >= _SEEN_EVERY_S:
            self._note(worker, "lastSeenAt", now)
        if known["state"] == "joining":
            await self._rows.change(worker, {"state": "active"}, only_in="joining")
            self._tell(worker)
        return Orders(known["drainRequested"], known["cordoned"])

    async def shall_drain(self, namespace: str, worker_id: str) -> bool:
        """Whether the worker was told to drain."""
        known = await self._copies.get(WorkerKey(namespace, worker_id))
        return known is not None and known["drainRequested"]

    async def cordon(self, namespace: str, worker_id: str, *, cordoned: bool) -> None:
        """Give the worker no more claims, or claims again. Raises ``NotFound``."""
        await self._order(WorkerKey(namespace, worker_id), {"cordoned": cordoned})

    async def drain(self, namespace: str, worker_id: str) -> None:
        """Tell the worker to end what runs, start nothing and go. Raises ``NotFound``."""
        await self._order(WorkerKey(namespace, worker_id), {"drainRequested": True, "state": "draining"})

    async def list(self, namespace: str, *, queue: str | None = None) -> list[dict[str, object]]:
        """List workers, the oldest first; of one queue when it is given."""
        await self.flush()
        found = await self._rows.of_namespace(namespace)
        found = [known for known in found if queue is None or queue in (known["queues"] or ["default"])]
        leased = await self._rows.leased(namespace, [_id(known) for known in found])
        now = self._clock.steady()
        found.sort(key=lambda known: (known["startedAt"], known["_id"]))
        return [_shown(known, leased.get(_id(known), 0), now) for known in found]

    def idle(self, namespace: str, worker_id: str, at: float | None = None) -> None:
        """Note that an attempt of the worker ended then, or now; written with the next ``flush``."""
        self._note(WorkerKey(namespace, worker_id), "idleSince", self._clock.steady() if at is None else at)

    async def flush(self) -> None:
        """Write what was noted. After ``StoreUnavailable`` it is still noted: flush again later."""
        async with self._flushing:
            times, self._times = self._times, {}
            if not times:
                return
            try:
                await self._rows.advance(times)
            except BaseException:
                for worker, noted in times.items():
                    for name, at in noted.items():
                        self._note(worker, name, at)
                raise

    async def sweep(self) -> int:
        """Forget workers that gave no sign of life for a day; how many."""
        await self.flush()
        return await self._rows.delete_unseen(self._clock.steady() - FORGOTTEN_S)

    async def _order(self, worker: WorkerKey, changes: Document) -> None:
        if not await self._rows.change(worker, changes):
            raise NotFound(f"no worker {worker.id!r}", hint="GET /v1/workers lists those that registered")
        self._tell(worker)
        # One that waits for work asks again, and meets the order; so do the others of its queues, for nothing.
        known = await self._rows.find(worker)
        queues = [] if known is None else known["queues"] or ["default"]
        self._bells.ring([Ring(work_topic(QueueKey(worker.namespace, name))) for name in queues])

    def _tell(self, worker: WorkerKey) -> None:
        self._bells.ring([Ring(worker_topic(worker))])

    def _note(self, worker: WorkerKey, name: str, at: float) -> None:
        noted = self._times.setdefault(worker, {})
        noted[name] = max(at, noted.get(name, at))


def _same_process(known: Worker, host: str, pid: int, started_at: float | None) -> bool:
    at = (known["host"], known["pid"]) == (host, pid)
    return at and (started_at is None or abs(started_at - known["startedAt"]) < _SAME_START_S)


def _id(known: Worker) -> str:
    return known["_id"].partition("/")[2]


def _shown(known: Worker, leased: int, now: float) -> dict[str, object]:
    queues = known["queues"]
    return {
        "id": _id(known),
        "queue": queues[0] if queues else "default",
        "queues": queues,
        "host": known["host"],
        "pid": known["pid"],
        "state": _SHOWN.get(known["state"], known["state"]),
        "concurrency": known["concurrency"],
        "started_at": known["startedAt"],
        "last_seen_at": known["lastSeenAt"],
        "leased": leased,
        "idle_since": None if leased else known.get("idleSince"),
        "tags": known["tags"],
        "stale": now - known["lastSeenAt"] > STALE_S,
        "cordoned": known["cordoned"],
    }
