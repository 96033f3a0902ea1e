"""How a replica starts and stops: what is opened first, what runs by itself, what is closed last."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from lakeshore_controlplane.foundations import Foundations
from lakeshore_controlplane.services.chores import Chore, Chores
from lakeshore_controlplane.services.control_plane import ControlPlane
from lakeshore_controlplane.services.gauges import Gauges
from lakeshore_controlplane.services.identity import Identity
from lakeshore_controlplane.services.retention import Retention
from lakeshore_controlplane.services.signals import Signals
from lakeshore_controlplane.services.sweeping import Sweeping
from lakeshore_controlplane.settings import SettingsError
from lakeshore_controlplane.store.mongo.indexes import all_indexes

log = logging.getLogger("lakeshore.server")


def arrange_start_and_stop(
    shared: Foundations, made: ControlPlane, retention: Retention, signals: Signals
) -> None:
    """Fill in what ``made`` does when it starts, begins to stop, and closes (in the reverse order)."""
    opening = _Opening(shared, made.identity)
    sweeping = Sweeping(
        rows=shared.claims,
        lane=shared.stores.lane,
        placing=shared.placing,
        expiring=shared.expiring,
        clock=shared.clock,
        tallies=shared.tallies,
        every_s=shared.settings.sweep_every_s,
    )
    chores = _chores(shared, retention, signals)
    made.on_start += [opening.open, opening.bootstrap, shared.stores.bells.start]
    made.on_close += [shared.stores.close]
    if shared.plane_clock is not None:  # time that is moved by hand does not pass for those who wait for it
        made.on_start += [sweeping.start, chores.start]
    made.on_close += [
        shared.placing.close,
        shared.finishers.close,
        shared.admission.close,
        _quietly(shared.statistics.flush),
        sweeping.stop,
        chores.close,
    ]
    made.on_stop.append(shared.stores.bells.ring_all)


def _chores(shared: Foundations, retention: Retention, signals: Signals) -> Chores:
    gauges = Gauges(queues=shared.queue_rows, signals=signals, retention=retention, metrics=shared.metrics)

    async def forget_old_events() -> None:
        for namespace in {"default", *(known["_id"] for known in await shared.namespace_rows.all())}:
            await shared.event_log.forget_old(namespace)

    return Chores(
        [
            Chore("statistics", 1.0, shared.statistics.flush),
            Chore("idle-notes", 2.0, shared.workers.flush),
            Chore("old-workers", 60.0, shared.workers.sweep),
            Chore("retention", 30.0, retention.sweep),
            Chore("old-events", 3600.0, forget_old_events),
            Chore("queue-gauges", 15.0, gauges.measure_queues),
            Chore("storage-gauges", 60.0, gauges.measure_storage),
        ]
    )


class _Opening:
    """The first steps: the database's time and indexes, and the first token."""

    def __init__(self, shared: Foundations, identity: Identity) -> None:
        self._shared = shared
        self._identity = identity

    async def open(self) -> None:
        database = self._shared.stores.database
        if self._shared.plane_clock is not None:
            self._shared.plane_clock.set_by(*await database.time())
        await database.ensure_indexes(all_indexes())

    async def bootstrap(self) -> None:
        if self._shared.settings.auth == "off":
            return
        given = self._shared.settings.bootstrap_token
        try:
            made = await self._identity.bootstrap(None if given is None else given.get_secret_value())
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
