"""What a load keeps busy in the long run: the part of the workers that is needed again in a moment."""

from __future__ import annotations

import math

from lakeshore_elasticity.signals import Signals

RATE_OVER_S = 300.0
"""Seconds over which the rate of arrivals is a moving mean; shorter than a day's slope, longer than a burst."""
PEAK_SIGMAS = 2.33
"""Standard deviations above the mean: one moment in a hundred takes more workers than that."""
THRIFTY_SIGMAS = 1.0
"""The same for economy's patience with idle workers: one moment in six takes more."""


def moving_rate(rate: float, arrived: int, past_s: float) -> float:
    """Move the rate of arrivals, per second, by ``arrived`` jobs in the last ``past_s`` seconds."""
    if past_s <= 0:
        return rate
    return rate + (1 - math.exp(-past_s / RATE_OVER_S)) * (arrived / past_s - rate)


def steady_peak(signals: Signals, sigmas: float = PEAK_SIGMAS) -> int:
    """Give the workers that suffice for 99 moments in 100 while jobs come as they do; 0 while that is not known.

    ``sigmas``: standard deviations above the mean, for another share of the moments.

    Jobs that come at random at rate r and run for d each keep, at any moment, a Poisson distributed number of slots
    busy, of mean and variance r * d, whatever the distribution of d (the M/G/infinity queue).
    """
    if not signals.mean_duration_s:
        return 0
    mean = signals.arrivals_per_s * signals.mean_duration_s
    return math.ceil((mean + sigmas * math.sqrt(mean)) / max(1, signals.slots))
