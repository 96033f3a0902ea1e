"""What is measured of the control plane by itself; its throughput takes turns with the peers' (see ``plan``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from yardstick import crowding, depth, footprint, scaling, streaming
from yardstick.installing import find_redis
from yardstick.lake import http_lake
from yardstick.peers import reason
from yardstick.processes import family
from yardstick.results import Results
from yardstick.served import control_plane, replica, stores

if TYPE_CHECKING:
    from yardstick.plan import Plan, Say


def measure_http(plan: Plan, results: Results, say: Say) -> None:
    """Fill ``results.http``. A measure that fails is noted, and the others go on."""
    redis = find_redis(say)
    if redis is None:
        raise RuntimeError("no redis-server: apt-get install redis-server")
    steps: dict[str, Callable[[], None]] = {
        "http-idle": lambda: _idle(plan, results, redis),
        "http-stream": lambda: _stream(plan, results, redis),
        "http-polls": lambda: _polls(plan, results, redis),
        "http-replicas": lambda: _replicas(plan, results, redis),
        "http-depth": lambda: _depth(plan, results, redis, say),
    }
    for name, step in steps.items():
        say(f"measuring: {name}")
        try:
            step()
        except Exception as exc:  # the report tells it
            results.failed[name] = reason(f"{type(exc).__name__}: {exc}")
            say(f"{name} failed: {results.failed[name]}")


def _idle(plan: Plan, results: Results, redis: str) -> None:
    with control_plane(redis) as served, http_lake(served.url) as found:
        groups = {"replica": {served.pid}, "worker": family(found.worker_pid)}
        used = footprint.idle_percents(groups, plan.idle_s)
    results.http.replica_idle_percent.append(used["replica"])
    results.http.worker_idle_percent.append(used["worker"])


def _stream(plan: Plan, results: Results, redis: str) -> None:
    with control_plane(redis) as served:
        results.http.stream = streaming.stream_figures(
            http_lake(served.url), frames=plan.frames, repeats=max(plan.rounds, 3), firsts=50
        )


def _polls(plan: Plan, results: Results, redis: str) -> None:
    with control_plane(redis) as served:
        results.http.crowd_mib.append(crowding.crowded_mib(served, plan.polls))


def _replicas(plan: Plan, results: Results, redis: str) -> None:
    cores = results.machine.cores
    if cores < scaling.CORES:
        results.skipped["http-replicas"] = f"it takes {scaling.CORES} cores, and this machine has {cores}"
        return
    for _ in range(plan.rounds):
        results.http.replica_ratios.append(scaling.scaling_ratio(redis, plan.scaling_s))


def _depth(plan: Plan, results: Results, redis: str, say: Say) -> None:
    with stores(redis) as on, replica(on) as served:
        results.http.depth = depth.depth_times(
            served.url, plan.few, plan.http_many, repeats=plan.rounds + 2, calls=plan.claims, say=say
        )
