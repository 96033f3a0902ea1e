"""The built-in traces: the loads that a queue of GPU jobs meets most."""

from __future__ import annotations

import difflib
import math
import random
from collections.abc import Callable, Iterator

from lakeshore_elasticity.simulator.traces import Trace, TraceError

Jobs = Iterator[tuple[float, float]]


def shape(name: str, seed: int = 0) -> Trace:
    """Make a built-in trace; the same seed gives the same jobs. ``-`` may be written for ``_``.

    Raises ``TraceError`` for a name that is not in ``BUILTIN_SHAPES``.
    """
    key = name.replace("-", "_")
    if key not in _MAKERS:
        close = difflib.get_close_matches(key, BUILTIN_SHAPES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(BUILTIN_SHAPES)}"
        raise TraceError(f"{name!r} is not a built-in shape: {hint}")
    return Trace.of(_MAKERS[key](random.Random(f"{key}:{seed}")), key)  # noqa: S311 - a simulation, no secret


def _steady(rng: random.Random) -> Jobs:
    """One job of about 20 s every 2 s, at random, for an hour: ten workers' worth."""
    for at in _poisson(rng, 3600.0, 0.5, lambda _: 0.5):
        yield at, _about(rng, 20.0, 0.5)


def _burst(rng: random.Random) -> Jobs:
    """1,000 jobs of one second within ten seconds, as one ``map`` over a data set sends them."""
    for _ in range(1000):
        yield rng.uniform(0.0, 10.0), _about(rng, 1.0, 0.2)


def _diurnal(rng: random.Random) -> Jobs:
    """A day in eight hours: next to nothing at night, twelve workers' worth of 30 s jobs at noon."""
    day_s = 28_800.0

    def rate(at: float) -> float:
        return 0.4 * max(0.0, math.sin(2 * math.pi * (at / day_s - 0.25))) ** 2 + 0.0005

    for at in _poisson(rng, day_s, 0.401, rate):
        yield at, _about(rng, 30.0, 0.5)


def _long_tail(rng: random.Random) -> Jobs:
    """900 jobs at once, most of some 20 s, one in thirty of ten minutes and more."""
    for _ in range(900):
        tail = rng.random() < 1 / 30
        yield 0.0, _about(rng, 900.0, 0.3) if tail else _about(rng, 20.0, 0.4)


def _batches(rng: random.Random) -> Jobs:
    """100 jobs of 20 s every ten minutes, for an hour: a sweep that waits for its own results."""
    for batch in range(6):
        for _ in range(100):
            yield 600.0 * batch, _about(rng, 20.0, 0.1)


_MAKERS: dict[str, Callable[[random.Random], Jobs]] = {
    "steady": _steady,
    "burst": _burst,
    "diurnal": _diurnal,
    "long_tail": _long_tail,
    "batches": _batches,
}
BUILTIN_SHAPES: tuple[str, ...] = tuple(_MAKERS)
"""Names that ``shape`` takes."""


def _poisson(
    rng: random.Random, until_s: float, most_per_s: float, rate: Callable[[float], float]
) -> Iterator[float]:
    """Give random arrivals at a changing rate, by thinning (Lewis and Shedler 1979)."""
    at = 0.0
    while True:
        at += rng.expovariate(most_per_s)
        if at >= until_s:
            return
        if rng.random() * most_per_s <= rate(at):
            yield at


def _about(rng: random.Random, mean: float, sigma: float) -> float:
    """Draw from a lognormal distribution by its mean and the deviation of its logarithm."""
    return rng.lognormvariate(math.log(mean) - sigma * sigma / 2, sigma)
