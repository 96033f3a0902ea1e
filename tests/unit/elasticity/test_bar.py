"""How the policies stand beside KEDA and the HPA: five shapes, starts of about 5 s and 90 s, seeds fixed."""

from __future__ import annotations

import pytest

from lakeshore_elasticity import parse_policy
from lakeshore_elasticity.simulator import BUILTIN_SHAPES, LognormalDelay, baselines, shape, simulate

DELAYS = (5.0, 90.0)
LIMITED, UNLIMITED = baselines()


@pytest.fixture(scope="module")
def outcomes():
    """Runs by (shape, delay), of each the default policy, the economical one, and both baselines."""
    runs = {
        "defaults": parse_policy({"kind": "fully_elastic"}),
        "economy": parse_policy({"kind": "fully_elastic", "scaleUp": {"economy": 0.25}}),
        "limited": LIMITED,
        "unlimited": UNLIMITED,
    }
    return {
        (name, delay): simulate(runs, shape(name), start_delay=LognormalDelay(delay))
        for name in BUILTIN_SHAPES
        for delay in DELAYS
    }


def hours(outcomes, name):
    return sum(results[name].worker_hours for results in outcomes.values())


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("name", BUILTIN_SHAPES)
def test_waiting_is_no_longer_than_under_either_baseline(outcomes, name, delay):
    results = outcomes[name, delay]
    assert results["defaults"].unfinished == 0
    assert results["defaults"].wait_p95_s <= results["limited"].wait_p95_s
    assert results["defaults"].wait_p95_s <= results["unlimited"].wait_p95_s


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("name", BUILTIN_SHAPES)
def test_economy_waits_at_most_a_third_longer(outcomes, name, delay):
    results = outcomes[name, delay]
    assert results["economy"].unfinished == 0
    assert results["economy"].wait_p95_s <= 1.3 * results["limited"].wait_p95_s
    assert results["economy"].wait_p95_s <= 1.3 * results["unlimited"].wait_p95_s


def test_defaults_cost_at_most_six_tenths_of_the_baseline_that_waits_as_little(outcomes):
    assert hours(outcomes, "defaults") <= 0.6 * hours(outcomes, "unlimited")


def test_defaults_cost_less_than_the_baseline_that_waits_for_minutes(outcomes):
    assert hours(outcomes, "defaults") <= 0.7 * hours(outcomes, "limited")


def test_economy_costs_at_most_four_tenths_of_the_baseline_that_waits_as_little(outcomes):
    assert hours(outcomes, "economy") <= 0.4 * hours(outcomes, "unlimited")
    assert hours(outcomes, "economy") <= 0.55 * hours(outcomes, "limited")
    assert hours(outcomes, "economy") < hours(outcomes, "defaults")
