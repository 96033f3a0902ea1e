"""Putting one replica together: stores by the settings, services on the stores."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict

from lakeshore_controlplane.clock import Clock, PlaneClock
from lakeshore_controlplane.metrics import Metrics
from lakeshore_controlplane.services.admission import Admission
from lakeshore_controlplane.services.awaiting import Awaiting
from lakeshore_controlplane.services.cancelling import Cancelling
from lakeshore_controlplane.services.chores import Chore, Chores
from lakeshore_controlplane.services.claiming import Claiming
from lakeshore_controlplane.services.code_repos import CodeRepos
from lakeshore_controlplane.services.control_plane import ControlPlane, StopFlag
from lakeshore_controlplane.services.elasticity_events import ElasticityEvents
from lakeshore_controlplane.services.eventlog import EventLog
from lakeshore_controlplane.services.expiring import Expiring
from lakeshore_controlplane.services.finishers import Finishers
from lakeshore_controlplane.services.finishing import Finishing
from lakeshore_controlplane.services.gauges import Gauges
from lakeshore_controlplane.services.holdings import Holdings
from lakeshore_controlplane.services.identity import Identity
from lakeshore_controlplane.services.journals import Journals
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.lookups import Lookups
from lakeshore_controlplane.services.namespaces import Namespaces
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.placing import Placing
from lakeshore_controlplane.services.polling import Polling
from lakeshore_controlplane.services.queue_book import QueueBook
from lakeshore_controlplane.services.queues import Queues
from lakeshore_controlplane.services.reading import Reading
from lakeshore_controlplane.services.retention import Retention
from lakeshore_controlplane.services.signals import Signals
from lakeshore_controlplane.services.statistics import Statistics
from lakeshore_controlplane.services.submitting import Submitting
from lakeshore_controlplane.services.sweeping import Sweeping
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.services.wakeups import Wakeups
from lakeshore_controlplane.services.watches import Watches
from lakeshore_controlplane.services.workers import Workers
from lakeshore_controlplane.settings import Settings, SettingsError
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo import (
    admission,
    claims,
    code_repos,
    elasticity_events,
    events,
    identity,
    invocations,
    journals,
    namespaces,
    outcomes,
    queues,
    retention,
    statistics,
    workers,
)
from lakeshore_controlplane.stores import Stores, open_stores

log = logging.getLogger("lakeshore.server")

_INDEXED = (
    invocations,
    admission,
    queues,
    statistics,
    workers,
    journals,
    namespaces,
    identity,
    code_repos,
    events,
    elasticity_events,
    retention,
)


def assemble(settings: Settings, *, clock: Clock | None = None) -> ControlPlane:
    """Make a replica; its ``start`` connects. ``clock``: for tests that move time by hand, and then sweep by hand."""
    return _Assembly(settings, open_stores(settings), clock).plane()


class _Assembly:
    """The parts of a replica while they are put together."""

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

    def plane(self) -> ControlPlane:
        """Put the services together."""
        database, bells, clock = self.stores.database, self.stores.bells, self.clock
        finishing, leasing = self._finishing(), self._leasing()
        retention, signals = self._retention(), self._signals()
        self.identity = Identity(
            rows=identity.TokenRows(database),
            bells=bells,
            clock=clock,
            open_to_all=self.settings.auth == "off",
        )
        made = ControlPlane(
            settings=self.settings,
            clock=clock,
            metrics=self.metrics,
            stopping=self.stopping,
            submitting=self._submitting(),
            lookups=Lookups(rows=self.rows),
            cancelling=Cancelling(rows=self.claims, placing=self.placing, bells=bells, clock=clock),
            polling=self._polling(finishing, leasing),
            finishing=finishing,
            leasing=leasing,
            awaiting=Awaiting(finishers=self.finishers, stopping=self.stopping),
            watches=Watches(
                finishers=self.finishers, rows=self.outcome_rows, clock=clock, stopping=self.stopping
            ),
            wakeups=Wakeups(bells=bells, stopping=self.stopping),
            journals=Journals(
                rows=self.journal_rows, outcomes=self.outcome_rows, tail=self.stores.tail, bells=bells
            ),
            reading=Reading(
                rows=self.journal_rows,
                outcomes=self.outcome_rows,
                tail=self.stores.tail,
                bells=bells,
                stopping=self.stopping,
            ),
            event_log=self.event_log,
            queues=Queues(rows=self.queue_rows, lane=self.stores.lane, bells=bells, clock=clock),
            signals=signals,
            workers=self.workers,
            elasticity_events=ElasticityEvents(
                rows=elasticity_events.ElasticityEventRows(database), clock=clock
            ),
            retention=retention,
            identity=self.identity,
            namespaces=Namespaces(rows=self.namespace_rows, bells=bells, clock=clock),
            payloads=self.payloads,
            code_repos=CodeRepos(
                rows=code_repos.CodeRepoRows(database),
                blobs=self.stores.blobs,
                clock=clock,
                limit=self.settings.code_limit,
            ),
            readiness=self.stores.readiness,
        )
        self._begin_and_end(made, retention, signals)
        return made

    def _finishing(self) -> Finishing:
        return Finishing(
            rows=self.claims,
            placing=self.placing,
            bells=self.stores.bells,
            clock=self.clock,
            tallies=self.tallies,
            finished=self.statistics.finished,
            idle=self.workers.idle,
            holdings=self.holdings,
        )

    def _leasing(self) -> Leasing:
        return Leasing(
            rows=self.claims,
            lane=self.stores.lane,
            placing=self.placing,
            queues=self.book,
            bells=self.stores.bells,
            clock=self.clock,
            idle=self.workers.idle,
        )

    def _submitting(self) -> Submitting:
        return Submitting(
            rows=self.rows,
            queues=self.book,
            placing=self.placing,
            bells=self.stores.bells,
            clock=self.clock,
            admission=self.admission,
            stats=self.statistics,
            payloads=self.payloads,
        )

    def _polling(self, finishing: Finishing, leasing: Leasing) -> Polling:
        claiming = Claiming(
            rows=self.claims,
            lane=self.stores.lane,
            placing=self.placing,
            expiring=self.expiring,
            queues=self.book,
            bells=self.stores.bells,
            clock=self.clock,
            tallies=self.tallies,
            holdings=self.holdings,
        )
        return Polling(
            claiming=claiming,
            finishing=finishing,
            leasing=leasing,
            workers=self.workers,
            payloads=self.payloads,
            bells=self.stores.bells,
            stopping=self.stopping,
        )

    def _signals(self) -> Signals:
        return Signals(
            counts=statistics.RowCounts(self.stores.database),
            statistics=self.statistics,
            lane=self.stores.lane,
            bells=self.stores.bells,
            clock=self.clock,
            stopping=self.stopping,
        )

    def _retention(self) -> Retention:
        return Retention(
            rows=retention.RetentionRows(self.stores.database),
            queues=self.queue_rows,
            statistics=self.statistics_rows,
            journals=self.journal_rows,
            payloads=self.payloads,
            tail=self.stores.tail,
            lane=self.stores.lane,
            bells=self.stores.bells,
            clock=self.clock,
        )

    def _begin_and_end(self, made: ControlPlane, retention: Retention, signals: Signals) -> None:
        sweeping = Sweeping(
            rows=self.claims,
            lane=self.stores.lane,
            placing=self.placing,
            expiring=self.expiring,
            clock=self.clock,
            tallies=self.tallies,
            every_s=self.settings.sweep_every_s,
        )
        gauges = Gauges(queues=self.queue_rows, signals=signals, retention=retention, metrics=self.metrics)
        chores = Chores(
            [
                Chore("statistics", 1.0, self.statistics.flush),
                Chore("idle-notes", 2.0, self.workers.flush),
                Chore("old-workers", 60.0, self.workers.sweep),
                Chore("retention", 30.0, retention.sweep),
                Chore("old-events", 3600.0, self._forget_old_events),
                Chore("queue-gauges", 15.0, gauges.measure_queues),
                Chore("storage-gauges", 60.0, gauges.measure_storage),
            ]
        )
        made.on_start += [self._open, self._bootstrap, self.stores.bells.start]
        made.on_close += [self.stores.close]
        if self.plane_clock is not None:  # time that is moved by hand does not pass for those who wait for it
            made.on_start += [sweeping.start, chores.start]
        made.on_close += [
            self.placing.close,
            self.finishers.close,
            self.admission.close,
            _quietly(self.statistics.flush),
            sweeping.stop,
            chores.close,
        ]
        made.on_stop.append(self.stores.bells.ring_all)

    async def _returning(self, queue: QueueKey, n: int) -> None:
        known = await self.book.peek(queue)
        if known is not None and known["admission"].get("max_depth") is not None:
            await self.admission.returning(queue, n)

    async def _forget_old_events(self) -> None:
        for namespace in {"default", *(known["_id"] for known in await self.namespace_rows.all())}:
            await self.event_log.forget_old(namespace)

    async def _open(self) -> None:
        database = self.stores.database
        if self.plane_clock is not None:
            self.plane_clock.set_by(*await database.time())
        indexes: dict[str, list[object]] = {}
        for module in _INDEXED:
            for collection, models in module.INDEXES.items():
                indexes.setdefault(collection, []).extend(models)
        await database.ensure_indexes(indexes)  # type: ignore[arg-type]

    async def _bootstrap(self) -> None:
        if self.settings.auth == "off":
            return
        given = self.settings.bootstrap_token
        try:
            made = await self.identity.bootstrap(None if given is None else given.get_secret_value())
        except ValueError as exc:
            raise SettingsError(f"LAKESHORE_BOOTSTRAP_TOKEN: {exc}") from None
        if made is not None:
            log.warning("the first admin token, shown this once: %s", made)


def _quietly(work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
    async def last_try() -> None:
        try:
            await work()
        except Exception as exc:
            log.warning("the last statistics were not written: %s", type(exc).__name__)

    return last_try
