"""The elastic pool of one machine: a loop over its queues that sleeps until a queue stirs."""

from __future__ import annotations

import logging
import os
import selectors
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from dreamlake.lakeshore.dispatch.plane import Listener, Plane
from dreamlake.lakeshore.errors import DispatchError, PlaneLostError
from dreamlake.lakeshore.pool.owning import own_queue
from dreamlake.lakeshore.pool.processes import worker_command
from dreamlake.lakeshore.pool.queue_file import QueueSpec
from dreamlake.lakeshore.pool.queue_pool import PoolView, QueuePool
from dreamlake.lakeshore.pool.telling import DecisionLog
from dreamlake.lakeshore.pool.watching import watch
from dreamlake.lakeshore.worker.stopping import StopSwitch

log = logging.getLogger("lakeshore.pool")

_BREATH_S = 0.05  # between two ticks: a thousand submits in a row are one reason to look
_AWAKE_S = 0.5  # between looks while there is work or a worker
_ASLEEP_S = 5.0
_LOG_PATIENCE_S = 1.0  # scaling is not kept waiting for its log
_LAST_S = 10.0  # for workers to hand their jobs back, before they are killed


class ElasticPool:
    """Scales worker processes to the queues' work until it is told to stop.

    ``switch``: first request drains, second stops (running jobs are handed back). ``show`` gets the views of all
    queues after each tick. On a control plane decisions are written down there.
    """

    def __init__(
        self,
        plane: Plane,
        specs: Sequence[QueueSpec],
        *,
        home: Path,
        namespace: str = "default",
        root: Path | None = None,
        retries: int = 1,
        lease_s: float | None = None,
        switch: StopSwitch,
        show: Callable[[list[PoolView]], None],
    ) -> None:
        self._plane = plane
        self._specs = specs
        self._home = home
        self._namespace = namespace
        self._switch = switch
        self._show = show
        self._decisions: DecisionLog | None = None
        self._trouble = ""  # what the plane answered last, told once
        self._pools = [
            QueuePool(
                plane,
                spec,
                worker_command(
                    spec.name,
                    namespace=namespace,
                    root=Path.cwd() if root is None else root,
                    concurrency=spec.worker.concurrency,
                    retries=retries,
                    lease_s=lease_s,
                    drain_timeout_s=spec.worker.drain_timeout_s,
                ),
                home / "logs" / namespace,
            )
            for spec in specs
        ]

    def run(self) -> None:
        """Work until drained or stopped.

        Raises ``ConfigError`` when another pool has one of the queues, ``PlaneLostError`` when the plane is gone
        for good.
        """
        with ExitStack() as stack:
            for spec in self._specs:
                stack.callback(os.close, own_queue(self._home, self._namespace, spec.name))
            for spec in self._specs:
                self._plane.declare_queue(spec.record)
            self._decisions = _decision_log(self._plane)
            if self._decisions is not None:
                stack.callback(self._decisions.close)
            selector = stack.enter_context(selectors.DefaultSelector())
            for spec in self._specs:
                listener = watch(self._plane, spec.name)
                stack.callback(listener.close)
                if listener.fileno() >= 0:
                    selector.register(listener.fileno(), selectors.EVENT_READ, listener)
            selector.register(self._switch.fileno(), selectors.EVENT_READ, self._switch)
            try:
                self._loop(selector)
            finally:
                self._end()

    def _loop(self, selector: selectors.BaseSelector) -> None:
        while True:
            if self._switch.draining:
                self._drain()
            views = self._tick()
            if self._switch.stopping or (self._switch.draining and not self._workers_left()):
                return
            self._sleep(selector, views)

    def _tick(self) -> list[PoolView]:
        try:
            for pool in self._pools:
                pool.reap()
            views = [pool.tick(closing=self._switch.draining) for pool in self._pools]
        except PlaneLostError:
            raise
        except DispatchError as exc:
            if str(exc) != self._trouble:
                log.warning("the plane does not answer, trying again: %s", exc)
            self._trouble = str(exc)
            return []
        self._trouble = ""
        self._show(views)
        if self._decisions is not None:
            self._decisions.write(view.event for view in views if view.event is not None)
        return views

    def _sleep(self, selector: selectors.BaseSelector, views: Sequence[PoolView]) -> None:
        awake = not views or any(view.signals.workers or view.signals.demand for view in views)
        pause = min([_AWAKE_S if awake else _ASLEEP_S, *(view.decision.next_check_s for view in views)])
        for key, _ in selector.select(max(pause, _BREATH_S)):
            if key.data is self._switch:
                self._switch.clear()
                continue
            listener: Listener = key.data
            time.sleep(_BREATH_S)
            listener.wait(0)

    def _drain(self) -> None:
        for pool in self._pools:
            for name in list(pool.processes.workers):
                pool.processes.drain(name)

    def _workers_left(self) -> bool:
        return any(pool.processes.workers for pool in self._pools)

    def _end(self) -> None:
        """Leave no process behind: after a drain there is none, after a stop or an error they go now."""
        for pool in self._pools:
            pool.processes.stop_all()
        until = time.monotonic() + _LAST_S
        while time.monotonic() < until and self._workers_left():
            for pool in self._pools:
                pool.processes.reap()
            time.sleep(_BREATH_S)
        for pool in self._pools:
            pool.processes.kill_all()


def _decision_log(plane: Plane) -> DecisionLog | None:
    if plane.local:
        return None
    from dreamlake.lakeshore.dispatch.http.administration import administration  # noqa: PLC0415 - not everywhere

    rest = administration(plane, patience_s=_LOG_PATIENCE_S)
    return None if rest is None else DecisionLog(rest)
