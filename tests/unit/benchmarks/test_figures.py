"""Percentiles, spreads and how figures are written."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yardstick.figures import Spread, percentile, short, shown

_VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)


@pytest.mark.parametrize(
    ("share", "wanted"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.505, 51), (0.99, 99), (1.0, 100)]
)
def test_a_percentile_is_the_nearest_rank(share: float, wanted: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == wanted


@given(_VALUES, st.floats(0, 1))
def test_a_percentile_is_a_value_that_the_share_does_not_pass(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) <= share * len(values) + 1e-9


def test_a_percentile_of_one_value_is_that_value() -> None:
    assert [percentile([7.0], share) for share in (0.0, 0.5, 0.99, 1.0)] == [7.0] * 4


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1.0], -0.1), ([1.0], 99)])
def test_a_percentile_refuses_no_values_and_shares_out_of_range(values: list[float], share: float) -> None:
    with pytest.raises(ValueError, match=r"percentile needs|share lies"):
        percentile(values, share)


@given(_VALUES)
def test_a_spread_is_in_order(values: list[float]) -> None:
    spread = Spread.of(values)
    assert min(values) == spread.least <= spread.median <= spread.most == max(values)


def test_a_spread_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Spread.of([])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (0.5, "0.500"),
        (4.567, "4.57"),
        (45.67, "45.7"),
        (123.4, "123"),
        (18351.6, "18,352"),
        (-2.5, "-2.50"),
        (math.inf, "inf"),
    ],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert short(value) == text


def test_a_spread_shows_its_range_only_where_repeats_differ() -> None:
    assert shown(Spread(1.0, 2.0, 3.0)) == "2.00 (1.00 to 3.00)"
    assert shown(Spread(25.61, 25.62, 25.63)) == "25.6"
