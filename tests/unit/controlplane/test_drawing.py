"""The draw of levels, which stands in for a boltzmann lane."""

import random
from collections import Counter
from math import exp

import pytest

from lakeshore_controlplane.services.drawing import draw_levels


def test_each_waiting_row_is_drawn_once_at_most():
    drawn = draw_levels({1.0: 3, -1.0: 2}, 1.0, 10, random.Random(1))
    assert Counter(drawn) == {1.0: 3, -1.0: 2}
    assert draw_levels({}, 1.0, 10, random.Random(1)) == []


def test_levels_are_drawn_by_their_count_and_their_weight():
    rng = random.Random(2)
    counts = {0.0: 30, 1.0: 10, 2.0: 5}
    found = Counter(draw_levels(counts, 0.7, 1, rng)[0] for _ in range(20_000))
    weights = {level: count * exp(level / 0.7) for level, count in counts.items()}
    for level, weight in weights.items():
        assert found[level] / 20_000 == pytest.approx(weight / sum(weights.values()), abs=0.02)


def test_priorities_beyond_any_power_are_drawn_from_the_top():
    counts = {1e300: 1, 0.0: 1, -1e300: 1}
    assert draw_levels(counts, 0.5, 3, random.Random(3)) == [1e300, 0.0, -1e300]
