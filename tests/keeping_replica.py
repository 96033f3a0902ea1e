"""A replica's services with those that keep queues, workers, tokens and statistics, on a real document server."""

import asyncio
import inspect
from pathlib import Path

from claim_replica import Replica
from hand_clock import HandClock
from lakeshore_controlplane.services.elasticity_events import ElasticityEvents
from lakeshore_controlplane.services.identity import Identity
from lakeshore_controlplane.services.namespaces import Namespaces
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.queues import Queues
from lakeshore_controlplane.services.retention import Retention
from lakeshore_controlplane.services.signals import Signals
from lakeshore_controlplane.services.statistics import Statistics
from lakeshore_controlplane.services.workers import Workers
from lakeshore_controlplane.store.blobs.folder import FolderBlobs
from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo import (
    elasticity_events,
    identity,
    journals,
    namespaces,
    queues,
    retention,
    statistics,
    workers,
)
from lakeshore_controlplane.store.mongo.database import Database
from lakeshore_controlplane.store.tail.memory import MemoryTail

KEEPING = (elasticity_events, identity, journals, namespaces, queues, retention, statistics, workers)


class Told:
    """Takes what services tell a list, and tells somebody else at once."""

    def __init__(self, listener):
        self.append = lambda told: listener(*told)


class KeepingReplica(Replica):
    """All that a test may ask of one replica. Its bells are its own: other replicas do not hear them."""

    def __init__(self, database, lane, clock, folder):
        super().__init__(database, lane, clock)
        shared = {"bells": self.bells, "clock": clock}
        self.statistics = Statistics(rows=statistics.StatisticsRows(database), clock=clock)
        self.queues = Queues(rows=self.queue_rows, lane=lane, **shared)
        self.workers = Workers(rows=workers.WorkerRows(database), **shared)
        self.signals = Signals(
            counts=statistics.RowCounts(database),
            statistics=self.statistics,
            lane=lane,
            settle=self.placing.drop_now,
            **shared,
        )
        self.journals = journals.JournalRows(database)
        self.blobs = FolderBlobs(Path(folder))
        self.payloads = Payloads(blobs=self.blobs, inline_limit=16)
        self.retention_rows = retention.RetentionRows(database)
        self.tail = MemoryTail()
        self.retention = Retention(
            rows=self.retention_rows,
            queues=self.queue_rows,
            statistics=statistics.StatisticsRows(database),
            journals=self.journals,
            payloads=self.payloads,
            tail=self.tail,
            lane=lane,
            **shared,
        )
        self.identity = Identity(rows=identity.TokenRows(database), **shared)
        self.namespaces = Namespaces(rows=namespaces.NamespaceRows(database), **shared)
        self.elasticity_events = ElasticityEvents(
            rows=elasticity_events.ElasticityEventRows(database), clock=clock
        )
        self.counted = Told(self.statistics.finished)
        self.idle = Told(self.workers.idle)

    async def open(self):
        await super().open()
        for module in KEEPING:
            await self.database.ensure_indexes(module.INDEXES)
        return self

    async def submit(self, *ids, queue="q", namespace="ns", **config):
        await super().submit(*ids, queue=queue, namespace=namespace, **config)
        self.statistics.arrived(QueueKey(namespace, queue), len(ids))

    async def finish(self, *reports, worker="w", namespace="ns"):
        assert await self.finishing.report(namespace, worker, list(reports)) == []

    async def close(self):
        await super().close()
        await self.tail.close()
        await self.blobs.close()


class KeepingReplicas:
    """``run(test)``: run ``async test(one, two, ...)`` with a replica for each of its arguments."""

    def __init__(self, url, database, folder):
        self.mongo = (url, database)
        self.folder = folder
        self.clock = HandClock()

    def run(self, test):
        async def opened():
            database, lane = Database(*self.mongo), MemoryLane()
            made = [
                await KeepingReplica(database, lane, self.clock, self.folder).open()
                for _ in inspect.signature(test).parameters
            ]
            try:
                async with asyncio.timeout(60):
                    await test(*made)
            finally:
                for one in made:
                    await one.close()
                await lane.close()
                await database.close()

        asyncio.run(opened())
