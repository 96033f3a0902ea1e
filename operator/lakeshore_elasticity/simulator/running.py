"""``simulate``: policies and baselines on a trace, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from lakeshore_elasticity.policies import Policy
from lakeshore_elasticity.simulator.events import Simulation
from lakeshore_elasticity.simulator.keda_hpa import KedaHpa, KedaHpaScaler
from lakeshore_elasticity.simulator.results import Results, Run
from lakeshore_elasticity.simulator.scalers import Load, PolicyScaler, Scaler
from lakeshore_elasticity.simulator.start_delays import StartDelay, start_delay_of
from lakeshore_elasticity.simulator.traces import Trace

Contestant: TypeAlias = Policy | KedaHpa
Jobs: TypeAlias = Trace | Iterable[tuple[float, float]]

TICK_S = 0.5
"""Least seconds between two decisions: production coalesces a rush of submits into one look as well."""


def simulate(
    policy_or_policies: Contestant | Sequence[Contestant] | Mapping[str, Contestant],
    jobs: Jobs,
    *,
    slots: int = 1,
    start_delay: StartDelay | float = 5.0,
    seed: int = 0,
    tick_s: float = TICK_S,
    measured: bool = False,
) -> Results:
    """Replay jobs under one or several policies, and tell what waiting and workers it took.

    ``jobs``: a ``Trace`` or pairs ``(arrival_s, duration_s)``. ``slots``: jobs that one worker runs at once.
    ``start_delay``: seconds from order to ready, or a distribution of them. A mapping names the runs; else they
    are named after the policies. ``measured``: begin with the means of the trace's durations and of the start delay
    as known, as for a queue that has run such jobs before; else a policy learns them. The same arguments give the
    same results.

    Raises ``TraceError`` for jobs that cannot be, ``ValueError`` for a start delay, slots or tick that cannot.
    """
    if slots < 1:
        raise ValueError(f"slots: {slots} is not a whole number from 1")
    if not tick_s > 0:
        raise ValueError(f"tick_s: {tick_s!r} is not a number above 0")
    trace = jobs if isinstance(jobs, Trace) else Trace.of(jobs)
    delay = start_delay_of(start_delay)
    known = _known(trace, delay) if measured and len(trace) else None
    runs = tuple(
        Simulation(scaler, trace, slots=slots, delay=delay, seed=seed, tick_s=tick_s, known=known).run()
        for scaler in _scalers(policy_or_policies, seed)
    )
    return Results(trace.name, len(trace), slots, str(delay), runs)


def _known(trace: Trace, delay: StartDelay) -> Load:
    return Load(mean_duration_s=sum(trace.durations) / len(trace), start_delay_s=delay.mean_s)


def keda_hpa_baseline(
    jobs: Jobs,
    *,
    slots: int = 1,
    start_delay: StartDelay | float = 5.0,
    seed: int = 0,
    settings: KedaHpa | None = None,
) -> Run:
    """Replay jobs under KEDA and the HorizontalPodAutoscaler; see ``simulate`` and ``KedaHpa``."""
    contestant = KedaHpa() if settings is None else settings
    return simulate(contestant, jobs, slots=slots, start_delay=start_delay, seed=seed).runs[0]


def _scalers(
    asked: Contestant | Sequence[Contestant] | Mapping[str, Contestant], seed: int
) -> Iterator[Scaler]:
    if isinstance(asked, Mapping):
        yield from (_scaler(one, name, seed) for name, one in asked.items())
    else:
        many = asked if isinstance(asked, Sequence) else (asked,)
        yield from (_scaler(one, None, seed) for one in many)


def _scaler(one: Contestant, name: str | None, seed: int) -> Scaler:
    if isinstance(one, KedaHpa):
        return KedaHpaScaler(one if name is None else replace(one, name=name), seed)
    return PolicyScaler(one, name)
