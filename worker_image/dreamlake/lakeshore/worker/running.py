"""``run_worker``, and the choice between bodies in this process and bodies in slots of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from dreamlake.lakeshore.dispatch.plane import DEFAULT_LEASE_S, Plane
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.queue.base import BaseQueue
from dreamlake.lakeshore.worker.counters import Counters
from dreamlake.lakeshore.worker.inprocess import InProcessWorker
from dreamlake.lakeshore.worker.options import RuntimePolicy, WorkerOptions
from dreamlake.lakeshore.worker.stopping import StopSwitch, stop_on_signals
from dreamlake.lakeshore.worker.supervisor import Supervisor

log = logging.getLogger("lakeshore.worker")


def run_worker(
    q: BaseQueue,
    *,
    root: Path | str | None = None,
    registry: Mapping[str, Callable[..., Any]] | None = None,
    once: bool = False,
    poll: float = 0.05,
    retries: int = 1,
    stop: Callable[[], bool] | None = None,
    allow_pickled: bool | None = None,
    runtime_policy: RuntimePolicy = "minor",
    lease_s: float = DEFAULT_LEASE_S,
) -> int:
    """Run the queue's invocations in this process, one at a time; the number of bodies that ended.

    ``root``: directory of ``run.read`` and ``run.write`` (default: the working directory). ``registry``: functions
    by qualname, used before an import is tried. ``once``: run at most one invocation and return. ``stop`` is
    asked between jobs and, while idle, every ``poll`` seconds. ``retries``: attempts after the first for
    invocations that do not say. ``allow_pickled``: whether functions shipped by value may run; None means
    yes on the local plane and no on any other. ``runtime_policy``: how near the submitting interpreter must
    be, ``strict``, ``minor`` or ``off``. ``lease_s``: seconds that a claim stands without renewal.

    A body that kills its process kills this worker, and one that keeps the GIL for longer than the lease
    loses it: ``python -m dreamlake.lakeshore.daemon`` runs bodies in processes of their own.
    """
    if not isinstance(cast("object", q), BaseQueue):
        raise ConfigError(f"run_worker takes a queue object, not {q!r}: run_worker(SyncQueue({str(q)!r}))")
    if registry is not None and not isinstance(cast("object", registry), Mapping):
        raise ConfigError(f"registry {registry!r}: give a dict of functions by name, {{'add': add}}")
    plane = q.dispatch
    options = WorkerOptions(
        root=Path.cwd() if root is None else Path(root),
        registry=registry or {},
        retries=retries,
        allow_pickled=plane.local if allow_pickled is None else allow_pickled,
        runtime_policy=runtime_policy,
        lease_s=lease_s,
        max_jobs=1 if once else None,
        idle_exit_s=0.0 if once else None,
    )
    worker = InProcessWorker(
        plane, q.name, options, kind=q.kind, temperature=q.temperature, stop=stop, poll=poll
    )
    return worker.run()


def serve(plane: Plane, queue: str, options: WorkerOptions, *, in_process: bool = False) -> Counters:
    """Run a worker until it is told to stop by SIGTERM or SIGINT (once: drain, twice: stop); what it counted.

    The order of claims is that of the declared queue, fifo for an undeclared one.
    """
    record = plane.queue_record(queue)
    kind = "fifo" if record is None else record.kind
    temperature = 1.0 if record is None else record.temperature
    switch = StopSwitch()
    worker: InProcessWorker | Supervisor
    if in_process:
        worker = InProcessWorker(plane, queue, options, kind=kind, temperature=temperature, switch=switch)
    else:
        worker = Supervisor(plane, queue, options, switch, kind=kind, temperature=temperature)
    limit = options.drain_timeout_s
    try:
        with (
            stop_on_signals(switch, interrupt=in_process, drain_timeout_s=limit),
            _health(options, worker.counters),
            suppress(KeyboardInterrupt),  # told to stop in the middle of a body: it was handed back
        ):
            worker.run()
    finally:
        switch.close()
    done = worker.counters
    log.info(
        "the worker has ended: %d jobs succeeded, %d failed, %d took their process down",
        done.succeeded,
        done.failed,
        done.crashed,
    )
    return done


@contextmanager
def _health(options: WorkerOptions, counters: Counters) -> Iterator[None]:
    if options.health_port is None:
        yield
        return
    from dreamlake.lakeshore.worker.health import HealthServer  # noqa: PLC0415 - few workers serve it

    health = HealthServer(counters, options.health_port)
    log.info("health page on port %d", health.port)
    try:
        yield
    finally:
        health.close()
