"""All services of one replica together, as routes see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.metrics import Metrics
from lakeshore_controlplane.services.awaiting import Awaiting
from lakeshore_controlplane.services.cancelling import Cancelling
from lakeshore_controlplane.services.code_repos import CodeRepos
from lakeshore_controlplane.services.elasticity_events import ElasticityEvents
from lakeshore_controlplane.services.eventlog import EventLog
from lakeshore_controlplane.services.finishing import Finishing
from lakeshore_controlplane.services.identity import Identity
from lakeshore_controlplane.services.journals import Journals
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.lookups import Lookups
from lakeshore_controlplane.services.namespaces import Namespaces
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.polling import Polling
from lakeshore_controlplane.services.queues import Queues
from lakeshore_controlplane.services.reading import Reading
from lakeshore_controlplane.services.retention import Retention
from lakeshore_controlplane.services.signals import Signals
from lakeshore_controlplane.services.submitting import Submitting
from lakeshore_controlplane.services.wakeups import Wakeups
from lakeshore_controlplane.services.watches import Watches
from lakeshore_controlplane.services.workers import Workers
from lakeshore_controlplane.settings import Settings


class StopFlag:
    """Whether this replica is going away. Calling it answers."""

    def __init__(self) -> None:
        self._raised = False

    def __call__(self) -> bool:
        """Say whether it is set."""
        return self._raised

    def set(self) -> None:
        """Go away."""
        self._raised = True


@dataclass(slots=True)
class ControlPlane:
    """One replica. ``start`` opens its stores, ``begin_stop`` ends long polls, ``close`` releases everything."""

    settings: Settings
    clock: Clock
    metrics: Metrics
    stopping: StopFlag
    submitting: Submitting
    lookups: Lookups
    cancelling: Cancelling
    polling: Polling
    finishing: Finishing
    leasing: Leasing
    awaiting: Awaiting
    watches: Watches
    wakeups: Wakeups
    journals: Journals
    reading: Reading
    event_log: EventLog
    queues: Queues
    signals: Signals
    workers: Workers
    elasticity_events: ElasticityEvents
    retention: Retention
    identity: Identity
    namespaces: Namespaces
    payloads: Payloads
    code_repos: CodeRepos
    readiness: Callable[[], Awaitable[dict[str, str]]]
    """Each store's name and ``ok``, ``down`` or ``none``."""
    on_start: list[Callable[[], Awaitable[object]]] = field(default_factory=list)
    on_stop: list[Callable[[], object]] = field(default_factory=list)
    on_close: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    async def start(self) -> None:
        """Open the stores and start what runs by itself."""
        for step in self.on_start:
            await step()

    def begin_stop(self) -> None:
        """Answer every long poll now, empty."""
        if not self.stopping():
            self.stopping.set()
            for step in self.on_stop:
                step()

    async def close(self) -> None:
        """Stop what runs by itself and close the stores, the last opened first."""
        self.begin_stop()
        for step in reversed(self.on_close):
            await step()
