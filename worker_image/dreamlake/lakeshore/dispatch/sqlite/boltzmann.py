"""The draw of a boltzmann queue: every waiting invocation weighs ``exp(priority / T)``.

All of one priority weigh the same, so a priority level is drawn with weight ``count * exp(priority / T)`` (the
softmax, or Boltzmann, distribution) and its oldest invocation is taken. Each draw is fresh: nothing that waits is
bound to an unlucky number drawn once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping


def draw_levels(counts: Mapping[float, int], temperature: float, n: int, rng: random.Random) -> list[float]:
    """Draw up to ``n`` levels without replacement; ``counts`` says how many invocations wait on each.

    ``temperature`` is in units of priority, above 0. Gives fewer than ``n`` when fewer wait.
    """
    left = dict(counts)
    drawn: list[float] = []
    factors: dict[float, float] = {}
    top = -math.inf
    while len(drawn) < n and left:
        if max(left) != top:
            # Relative to the highest level that is left, so that no power overflows and not all vanish.
            top = max(left)
            factors = {level: math.exp((level - top) / temperature) for level in left}
        level = _draw(left, factors, rng)
        drawn.append(level)
        left[level] -= 1
        if not left[level]:
            del left[level]
    return drawn


def _draw(left: Mapping[float, int], factors: Mapping[float, float], rng: random.Random) -> float:
    weights = [count * factors[level] for level, count in left.items()]
    point = rng.random() * math.fsum(weights)
    for level, weight in zip(left, weights, strict=True):
        point -= weight
        if point < 0:
            return level
    return max(left)  # rounding left the point at the very end; the highest level surely has weight
