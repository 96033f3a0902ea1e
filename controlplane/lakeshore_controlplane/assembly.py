"""Putting one replica together: stores by the settings, services on the stores."""

from __future__ import annotations

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.foundations import Foundations
from lakeshore_controlplane.services.awaiting import Awaiting
from lakeshore_controlplane.services.cancelling import Cancelling
from lakeshore_controlplane.services.claiming import Claiming
from lakeshore_controlplane.services.code_repos import CodeRepos
from lakeshore_controlplane.services.control_plane import ControlPlane
from lakeshore_controlplane.services.elasticity_events import ElasticityEvents
from lakeshore_controlplane.services.finishing import Finishing
from lakeshore_controlplane.services.identity import Identity
from lakeshore_controlplane.services.journals import Journals
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.lookups import Lookups
from lakeshore_controlplane.services.namespaces import Namespaces
from lakeshore_controlplane.services.polling import Polling
from lakeshore_controlplane.services.queues import Queues
from lakeshore_controlplane.services.reading import Reading
from lakeshore_controlplane.services.retention import Retention
from lakeshore_controlplane.services.signals import Signals
from lakeshore_controlplane.services.submitting import Submitting
from lakeshore_controlplane.services.wakeups import Wakeups
from lakeshore_controlplane.services.watches import Watches
from lakeshore_controlplane.settings import Settings
from lakeshore_controlplane.starting import arrange_start_and_stop
from lakeshore_controlplane.store.mongo import (
    code_repos,
    elasticity_events,
    identity,
    retention,
    statistics,
)
from lakeshore_controlplane.stores import open_stores


def assemble(settings: Settings, *, clock: Clock | None = None) -> ControlPlane:
    """Make a replica; its ``start`` connects. ``clock``: for tests that move time by hand, and then sweep by hand."""
    return _Assembly(Foundations(settings, open_stores(settings), clock)).plane()


class _Assembly:
    """The services, one after the other."""

    def __init__(self, shared: Foundations) -> None:
        self.shared = shared

    def plane(self) -> ControlPlane:
        """Put the services together."""
        database, bells, clock = self.shared.stores.database, self.shared.stores.bells, self.shared.clock
        finishing, leasing = self._finishing(), self._leasing()
        retention, signals = self._retention(), self._signals()
        identities = Identity(
            rows=identity.TokenRows(database),
            bells=bells,
            clock=clock,
            open_to_all=self.shared.settings.auth == "off",
        )
        made = ControlPlane(
            settings=self.shared.settings,
            clock=clock,
            metrics=self.shared.metrics,
            stopping=self.shared.stopping,
            submitting=self._submitting(),
            lookups=Lookups(rows=self.shared.rows),
            cancelling=Cancelling(
                rows=self.shared.claims, placing=self.shared.placing, bells=bells, clock=clock
            ),
            polling=self._polling(finishing, leasing),
            finishing=finishing,
            leasing=leasing,
            awaiting=Awaiting(finishers=self.shared.finishers, stopping=self.shared.stopping),
            watches=Watches(
                finishers=self.shared.finishers,
                rows=self.shared.outcome_rows,
                clock=clock,
                stopping=self.shared.stopping,
            ),
            wakeups=Wakeups(bells=bells, stopping=self.shared.stopping),
            journals=Journals(
                rows=self.shared.journal_rows,
                outcomes=self.shared.outcome_rows,
                tail=self.shared.stores.tail,
                bells=bells,
            ),
            reading=Reading(
                rows=self.shared.journal_rows,
                outcomes=self.shared.outcome_rows,
                tail=self.shared.stores.tail,
                bells=bells,
                stopping=self.shared.stopping,
            ),
            event_log=self.shared.event_log,
            queues=Queues(
                rows=self.shared.queue_rows, lane=self.shared.stores.lane, bells=bells, clock=clock
            ),
            signals=signals,
            workers=self.shared.workers,
            elasticity_events=ElasticityEvents(
                rows=elasticity_events.ElasticityEventRows(database), clock=clock
            ),
            retention=retention,
            identity=identities,
            namespaces=Namespaces(rows=self.shared.namespace_rows, bells=bells, clock=clock),
            payloads=self.shared.payloads,
            code_repos=CodeRepos(
                rows=code_repos.CodeRepoRows(database),
                blobs=self.shared.stores.blobs,
                clock=clock,
                limit=self.shared.settings.code_limit,
            ),
            readiness=self.shared.stores.readiness,
        )
        arrange_start_and_stop(self.shared, made, retention, signals)
        return made

    def _finishing(self) -> Finishing:
        return Finishing(
            rows=self.shared.claims,
            placing=self.shared.placing,
            bells=self.shared.stores.bells,
            clock=self.shared.clock,
            tallies=self.shared.tallies,
            finished=self.shared.statistics.finished,
            idle=self.shared.workers.idle,
            holdings=self.shared.holdings,
        )

    def _leasing(self) -> Leasing:
        return Leasing(
            rows=self.shared.claims,
            lane=self.shared.stores.lane,
            placing=self.shared.placing,
            queues=self.shared.book,
            bells=self.shared.stores.bells,
            clock=self.shared.clock,
            idle=self.shared.workers.idle,
        )

    def _submitting(self) -> Submitting:
        return Submitting(
            rows=self.shared.rows,
            queues=self.shared.book,
            placing=self.shared.placing,
            bells=self.shared.stores.bells,
            clock=self.shared.clock,
            admission=self.shared.admission,
            stats=self.shared.statistics,
            payloads=self.shared.payloads,
        )

    def _polling(self, finishing: Finishing, leasing: Leasing) -> Polling:
        claiming = Claiming(
            rows=self.shared.claims,
            lane=self.shared.stores.lane,
            placing=self.shared.placing,
            expiring=self.shared.expiring,
            queues=self.shared.book,
            bells=self.shared.stores.bells,
            clock=self.shared.clock,
            tallies=self.shared.tallies,
            holdings=self.shared.holdings,
        )
        return Polling(
            claiming=claiming,
            finishing=finishing,
            leasing=leasing,
            workers=self.shared.workers,
            payloads=self.shared.payloads,
            bells=self.shared.stores.bells,
            stopping=self.shared.stopping,
        )

    def _signals(self) -> Signals:
        return Signals(
            counts=statistics.RowCounts(self.shared.stores.database),
            settle=self.shared.placing.drop_now,
            statistics=self.shared.statistics,
            lane=self.shared.stores.lane,
            bells=self.shared.stores.bells,
            clock=self.shared.clock,
            stopping=self.shared.stopping,
        )

    def _retention(self) -> Retention:
        return Retention(
            rows=retention.RetentionRows(self.shared.stores.database),
            queues=self.shared.queue_rows,
            statistics=self.shared.statistics_rows,
            journals=self.shared.journal_rows,
            payloads=self.shared.payloads,
            tail=self.shared.stores.tail,
            lane=self.shared.stores.lane,
            bells=self.shared.stores.bells,
            clock=self.shared.clock,
        )
