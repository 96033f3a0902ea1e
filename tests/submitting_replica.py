"""Replicas of the services that submit and look up, on one document server, for tests."""

import asyncio
from contextlib import AsyncExitStack

from lakeshore_controlplane.services.admission import Admission
from lakeshore_controlplane.services.lookups import Lookups
from lakeshore_controlplane.services.placing import Placing
from lakeshore_controlplane.services.queue_book import QueueBook, undeclared
from lakeshore_controlplane.services.submission import Submission, Submitted
from lakeshore_controlplane.services.submitting import Submitting
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.services.topics import change_topic, queue_topic
from lakeshore_controlplane.store.bells.local import LocalBells
from lakeshore_controlplane.store.bells.port import Ring
from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.admission import AdmissionRows
from lakeshore_controlplane.store.mongo.claims import ClaimRows
from lakeshore_controlplane.store.mongo.database import Database
from lakeshore_controlplane.store.mongo.invocations import INDEXES, InvocationRows
from lakeshore_controlplane.store.mongo.queues import QueueRows

LIMIT_S = 60.0
"""Seconds that one scenario may take."""


class Arrived:
    """Counts of new rows by queue."""

    def __init__(self):
        self.counts = {}

    def arrived(self, queue, n):
        self.counts[str(queue)] = self.counts.get(str(queue), 0) + n


class Replica:
    """The services of one replica; ``lane`` is shared by those of one test, everything else is its own."""

    def __init__(self, url, name, clock, lane, payloads=None):
        self.database = Database(url, name)
        self.clock = clock
        self.lane = lane
        self.bells = LocalBells()
        self.rows = InvocationRows(self.database)
        self.books = AdmissionRows(self.database)
        self.queue_rows = QueueRows(self.database)
        self.arrived = Arrived()
        self.placing = Placing(
            lane=lane, rows=ClaimRows(self.database), bells=self.bells, clock=clock, tallies=Tallies()
        )
        self.admission = Admission(books=self.books, rows=self.rows, bells=self.bells, clock=clock)
        self.submitting = Submitting(
            rows=self.rows,
            queues=QueueBook(rows=self.queue_rows, bells=self.bells, clock=clock),
            placing=self.placing,
            bells=self.bells,
            clock=clock,
            admission=self.admission,
            stats=self.arrived,
            payloads=payloads,
        )
        self.lookups = Lookups(rows=self.rows)

    async def close(self):
        await self.admission.close()
        await self.placing.close()
        await self.database.close()

    async def queue(self, name="q", *, state="active", kind="fifo", kind_params=None, **admission):
        """Declare or change a queue."""
        changes = {"state": state, "kind": kind, "kindParams": kind_params or {}, "admission": admission}
        await self.queue_rows.put(changes, undeclared(QueueKey("ns", name), self.clock.steady()))
        self.bells.ring([Ring(queue_topic(QueueKey("ns", name)))])

    async def submit(self, inv_id, args=b"1", *, queue="q", wait_s=0.0, ns="ns", **run_config):
        return await self.submitting.submit(ns, item(inv_id, args, queue=queue, **run_config), wait_s=wait_s)

    async def submit_many(self, *items, atomic=False, wait_s=0.0):
        return await self.submitting.submit_many("ns", items, atomic=atomic, wait_s=wait_s)

    async def claim(self, n=1, queue="q"):
        """Take up to ``n`` queued rows as a claim would; their ids."""
        rows = self.database.collection("invocations")
        taken = []
        while len(taken) < n:
            row = await rows.find_one_and_update(
                {"namespaceId": "ns", "runConfig.queue": queue, "state": "queued"},
                {"$set": {"state": "running", "workerId": "w", "leaseUntil": self.clock.steady() + 30}},
                sort=[("priority", -1), ("order", 1)],
            )
            if row is None:
                break
            taken.append(row["_id"].partition("/")[2])
        self.bells.ring([Ring(change_topic(QueueKey("ns", queue)))])
        return taken

    async def count(self, queue="q", state="queued"):
        return await self.lookups.count("ns", queue, state)


def item(inv_id, args=b"1", *, queue="q", parent=None, **run_config):
    return Submission(inv_id, queue, args, run_config=run_config, parent=parent)


class Stage:
    """Plays scenarios, each a coroutine function that takes its replicas."""

    def __init__(self, url, name, clock):
        self._url = url
        self._name = name
        self.clock = clock

    def play(self, scenario, *, replicas=1, payloads=None):
        async def run():
            async with AsyncExitStack() as open_ones, asyncio.timeout(LIMIT_S):
                lane = MemoryLane()
                made = [Replica(self._url, self._name, self.clock, lane, payloads) for _ in range(replicas)]
                for replica in made:
                    open_ones.push_async_callback(replica.close)
                await made[0].database.ensure_indexes(INDEXES)
                return await scenario(*made)

        return asyncio.run(run())


def ids_of(answers):
    """Give the ids of those that were taken."""
    return [answer.id for answer in answers if isinstance(answer, Submitted)]


async def fill(replica, n, first="old"):
    """Submit ``n`` rows, all or none."""
    return await replica.submit_many(*(item(f"{first}{k}") for k in range(n)), atomic=True)
