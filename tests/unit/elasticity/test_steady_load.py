"""What a steady load needs, and that its starts are not cancelled at each dip."""

from __future__ import annotations

import math

import pytest

from lakeshore_elasticity import FullyElastic, Signals, State, Worker, decide, moving_rate
from lakeshore_elasticity.steady import RATE_OVER_S, steady_peak


def test_the_rate_moves_to_what_comes():
    rate = 0.0
    for _ in range(int(RATE_OVER_S)):
        rate = moving_rate(rate, 2, 1.0)
    assert rate == pytest.approx(2 * (1 - math.exp(-1)), rel=0.01)
    assert moving_rate(rate, 0, RATE_OVER_S * 50) == pytest.approx(0.0, abs=1e-9)
    assert moving_rate(rate, 5, 0.0) == rate


def test_the_rate_does_not_depend_on_how_often_it_is_looked_at():
    once = moving_rate(0.3, 60, 60.0)
    often = 0.3
    for _ in range(60):
        often = moving_rate(often, 1, 1.0)
    assert often == pytest.approx(once)


@pytest.mark.parametrize(
    ("rate", "duration", "slots", "workers"),
    [(0.5, 20.0, 1, 18), (0.5, 20.0, 4, 5), (0.0, 20.0, 1, 0), (0.5, None, 1, 0), (100.0, 1.0, 1, 124)],
)
def test_a_steady_load_needs_its_mean_and_some_deviations(rate, duration, slots, workers):
    signals = Signals(0, 0, 0.0, slots=slots, arrivals_per_s=rate, mean_duration_s=duration)
    assert steady_peak(signals) == workers


def test_starts_that_a_steady_load_needs_again_are_kept_and_those_beyond_are_cancelled():
    starting = tuple(Worker(f"s{index:02d}", "starting", 0.0, 0.0) for index in range(25))
    signals = Signals(2, 0, 60.0, starting, arrivals_per_s=0.5, mean_duration_s=20.0)
    decision = decide(FullyElastic(), signals, State(surplus_since=0.0), 60.0)
    assert len(decision.cancel) == 25 - 18
    assert decision.desired == 18
