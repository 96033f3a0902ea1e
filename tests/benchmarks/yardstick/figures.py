"""Percentiles and spreads of measured figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


def percentile(values: Sequence[float], share: float) -> float:
    """Give the value that ``share`` (0 to 1) of the values do not pass (nearest rank). Needs one value."""
    if not values:
        raise ValueError("a percentile needs at least one value")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share lies between 0 and 1, not at {share}")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the median and the greatest figure of several repeats."""

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise repeats. Raises ``ValueError`` without any."""
        if not values:
            raise ValueError("a spread needs at least one value")
        return cls(min(values), statistics.median(values), max(values))


def short(value: float) -> str:
    """Write a figure with three significant digits, thousands separated: ``0.0123``, ``4.57``, ``18,352``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def shown(spread: Spread) -> str:
    """Write a spread as ``median (least to most)``, or the one figure when all repeats agree."""
    if short(spread.least) == short(spread.most):
        return short(spread.median)
    return f"{short(spread.median)} ({short(spread.least)} to {short(spread.most)})"
