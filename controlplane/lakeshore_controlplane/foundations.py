"""What the services of one replica share: stores, rows, clock, counters, and the services that others stand on."""

from __future__ import annotations

from dataclasses import asdict

from lakeshore_controlplane.clock import Clock, PlaneClock
from lakeshore_controlplane.metrics import Metrics
from lakeshore_controlplane.services.admission import Admission
from lakeshore_controlplane.services.control_plane import StopFlag
from lakeshore_controlplane.services.eventlog import EventLog
from lakeshore_controlplane.services.expiring import Expiring
from lakeshore_controlplane.services.finishers import Finishers
from lakeshore_controlplane.services.holdings import Holdings
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.placing import Placing
from lakeshore_controlplane.services.queue_book import QueueBook
from lakeshore_controlplane.services.statistics import Statistics
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.services.workers import Workers
from lakeshore_controlplane.settings import Settings
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo import (
    admission,
    claims,
    events,
    invocations,
    journals,
    namespaces,
    outcomes,
    queues,
    statistics,
    workers,
)
from lakeshore_controlplane.stores import Stores


class Foundations:
    """The shared parts of a replica."""

    def __init__(self, settings: Settings, stores: Stores, clock: Clock | None) -> None:
        self.settings = settings
        self.stores = stores
        self.plane_clock = None if clock is not None else PlaneClock()
        self.clock: Clock = clock or self.plane_clock or PlaneClock()
        self.stopping = StopFlag()
        self.tallies = Tallies()
        self.metrics = Metrics()
        self.metrics.count(lambda: asdict(self.tallies))
        database, bells, lane = stores.database, stores.bells, stores.lane
        self.rows = invocations.InvocationRows(database)
        self.claims = claims.ClaimRows(database)
        self.queue_rows = queues.QueueRows(database)
        self.statistics_rows = statistics.StatisticsRows(database)
        self.journal_rows = journals.JournalRows(database)
        self.outcome_rows = outcomes.OutcomeRows(database)
        self.namespace_rows = namespaces.NamespaceRows(database)
        self.event_log = EventLog(rows=events.EventRows(database), clock=self.clock)
        self.payloads = Payloads(
            blobs=stores.blobs, inline_limit=settings.inline_limit, through_limit=settings.payload_limit
        )
        self.book = QueueBook(rows=self.queue_rows, bells=bells, clock=self.clock)
        self.statistics = Statistics(rows=self.statistics_rows, clock=self.clock)
        self.placing = Placing(
            lane=lane,
            rows=self.claims,
            bells=bells,
            clock=self.clock,
            tallies=self.tallies,
            returning=self._returning,
        )
        self.admission = Admission(
            books=admission.AdmissionRows(database), rows=self.rows, bells=bells, clock=self.clock
        )
        self.expiring = Expiring(
            rows=self.claims, placing=self.placing, bells=bells, clock=self.clock, tallies=self.tallies
        )
        self.holdings = Holdings()
        self.workers = Workers(rows=workers.WorkerRows(database), bells=bells, clock=self.clock)
        self.finishers = Finishers(rows=self.outcome_rows, bells=bells, stopping=self.stopping)

    async def _returning(self, queue: QueueKey, n: int) -> None:
        known = await self.book.peek(queue)
        if known is not None and known["admission"].get("max_depth") is not None:
            await self.admission.returning(queue, n)
