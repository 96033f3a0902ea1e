"""How long a worker takes from its order until it takes jobs: image pull, node, import, model."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Sampler = Callable[[], float]


class StartDelay(Protocol):
    """A distribution of delays in seconds."""

    @property
    def mean_s(self) -> float:
        """Its mean."""
        ...

    def sampler(self, seed: int) -> Sampler:
        """Give a function that draws one delay after the other; the same seed draws the same."""
        ...


@dataclass(frozen=True, slots=True)
class FixedDelay:
    """Every start takes the same."""

    mean_s: float

    def __post_init__(self) -> None:
        _check(self.mean_s)

    def __str__(self) -> str:
        return f"{self.mean_s:g} s"

    def sampler(self, seed: int) -> Sampler:
        """Give the delay, always."""
        return lambda: self.mean_s


@dataclass(frozen=True, slots=True)
class LognormalDelay:
    """Most starts take about the mean, few much longer, as image pulls and node starts do.

    ``mean_s``: the mean. ``sigma``: deviation of the logarithm; with 0.3, one in twenty takes more than 1.56
    times the mean.
    """

    mean_s: float
    sigma: float = 0.3

    def __post_init__(self) -> None:
        _check(self.mean_s)
        _check(self.sigma)

    def __str__(self) -> str:
        return f"about {self.mean_s:g} s (lognormal, sigma {self.sigma:g})"

    def sampler(self, seed: int) -> Sampler:
        """Give a function that draws from the distribution."""
        if self.mean_s == 0:
            return lambda: 0.0
        rng = random.Random(f"start delay:{seed}")  # noqa: S311 - a simulation, no secret
        mu = math.log(self.mean_s) - self.sigma * self.sigma / 2
        return lambda: rng.lognormvariate(mu, self.sigma)


def start_delay_of(value: StartDelay | float) -> StartDelay:
    """Take a number for starts that all take that many seconds."""
    return FixedDelay(float(value)) if isinstance(value, int | float) else value


def _check(value: float) -> None:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"a start delay is a number of seconds from 0, not {value!r}")
