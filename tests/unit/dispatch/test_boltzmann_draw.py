"""The draw of a boltzmann queue has exactly its odds, at every claim anew, one by one and in batches."""

import math
import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.plane import RunConfig, Submission
from dreamlake.lakeshore.dispatch.sqlite.boltzmann import draw_levels

# Values that chi-square passes with probability 0.001, by degrees of freedom (Abramowitz & Stegun, table 26.8).
CRITICAL = {2: 13.82, 3: 16.27, 8: 26.12}


def chi_square(seen, expected):
    return sum((seen[key] - share) ** 2 / share for key, share in expected.items())


def odds(counts, temperature):
    weights = {level: count * math.exp(level / temperature) for level, count in counts.items()}
    return {level: weight / sum(weights.values()) for level, weight in weights.items()}


@pytest.fixture
def filled():
    """A plane with 10, 4, 1 and 2 invocations on the priorities 0, 1, 2 and -1."""
    plane = Dispatch(_rng=random.Random(11))
    counts = {0.0: 10, 1.0: 4, 2.0: 1, -1.0: 2}
    for level, count in counts.items():
        items = [Submission(f"p{level:g}n{n}", b"e", RunConfig(priority=level)) for n in range(count)]
        plane.submit_many("q", items)
    yield plane, counts
    plane.close()


@pytest.mark.parametrize("temperature", [0.7, 1.5])
def test_claims_have_the_odds_of_count_times_exp_priority_over_t(filled, temperature):
    plane, counts = filled
    seen = Counter()
    draws = 3000
    for _ in range(draws):
        claimed = plane.claim("q", "w", kind="boltzmann", temperature=temperature)
        seen[plane.get(claimed.id)["priority"]] += 1
        plane.release([claimed.id], "w")
    expected = {level: share * draws for level, share in odds(counts, temperature).items()}
    assert chi_square(seen, expected) < CRITICAL[3]


def test_another_temperature_fails_the_same_test(filled):
    """The test above can fail: draws at one temperature do not have the odds of another."""
    _, counts = filled
    rng = random.Random(11)
    seen = Counter(draw_levels(counts, 0.7, 1, rng)[0] for _ in range(3000))
    expected = {level: share * 3000 for level, share in odds(counts, 1.5).items()}
    assert chi_square(seen, expected) > CRITICAL[3]


def test_a_batch_has_the_odds_of_claims_one_after_another():
    counts, temperature, draws = {0.0: 3, 1.0: 2, 2.0: 2}, 1.0, 6000
    rng = random.Random(3)
    seen = Counter(tuple(draw_levels(counts, temperature, 2, rng)) for _ in range(draws))
    expected = {}
    for first, second in product(counts, repeat=2):
        left = {**counts, first: counts[first] - 1}
        expected[first, second] = draws * odds(counts, temperature)[first] * odds(left, temperature)[second]
    assert chi_square(seen, expected) < CRITICAL[8]


def test_an_old_one_is_not_starved_by_better_ones_that_keep_arriving():
    """Its chance is the same at each claim: about exp(-2) / (1 + exp(-2)), so 100 claims surely find it."""
    plane = Dispatch(_rng=random.Random(2))
    plane.submit("q", b"e", id="old", priority=0.0)
    for number in range(100):
        plane.submit("q", b"e", id=f"new{number}", priority=2.0)
        if plane.claim("q", "w", kind="boltzmann", temperature=1.0).id == "old":
            break
    assert plane.get("old")["state"] == "running"
    plane.close()


@given(
    counts=st.dictionaries(st.floats(-1e300, 1e300), st.integers(1, 5), max_size=6),
    temperature=st.floats(1e-6, 1e6),
    n=st.integers(0, 12),
    seed=st.integers(0, 99),
)
def test_any_levels_are_drawn_without_replacement(counts, temperature, n, seed):
    drawn = Counter(draw_levels(counts, temperature, n, random.Random(seed)))
    assert drawn.total() == min(n, sum(counts.values()))
    assert all(drawn[level] <= counts[level] for level in drawn)
