"""The draw of a boltzmann queue from counts of its rows, for claims that bypass the lane. Pure.

A priority level is drawn with weight ``count * exp(priority / temperature)``; its oldest row is taken.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping


def draw_levels(counts: Mapping[float, int], temperature: float, n: int, rng: random.Random) -> list[float]:
    """Draw up to ``n`` levels without replacement; ``counts`` says how many rows wait on each.

    ``temperature`` is in units of priority, above 0. Gives fewer than ``n`` when fewer wait.
    """
    left = dict(counts)
    drawn: list[float] = []
    while len(drawn) < n and left:
        # Relative to the highest level that is left, so that no power overflows and not all vanish.
        top = max(left)
        levels = list(left)
        weights = [left[level] * math.exp((level - top) / temperature) for level in levels]
        level = rng.choices(levels, weights)[0]
        drawn.append(level)
        left[level] -= 1
        if not left[level]:
            del left[level]
    return drawn
