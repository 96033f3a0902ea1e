"""Bars, verdicts, and which peer is the best."""

import math

import pytest
from yardstick.figures import Spread
from yardstick.verdicts import Bar, PeerFigures, Row, best_latency, best_rate, ratio

_FAST = PeerFigures("fast", loop_per_s=[900.0, 1000.0, 5000.0], p50_ms=[4.0])
_SOON = PeerFigures("soon", loop_per_s=[100.0], batch_per_s=[1500.0], p50_ms=[2.0, 3.0])
_GONE = PeerFigures("gone", absent="failed: no such program")


@pytest.mark.parametrize(
    ("sense", "below", "at", "above"),
    [("at_most", True, True, False), ("under", True, False, False), ("at_least", False, True, True)],
)
def test_a_bar_says_on_which_side_figures_meet_it(sense: str, below: bool, at: bool, above: bool) -> None:
    bar = Bar(sense, 2.0, "2")  # type: ignore[arg-type]
    assert [bar.met_by(figure) for figure in (1.9, 2.0, 2.1)] == [below, at, above]


@pytest.mark.parametrize("sense", ["at_most", "under", "at_least"])
def test_a_figure_that_is_no_number_meets_no_bar(sense: str) -> None:
    assert not Bar(sense, 2.0, "2").met_by(math.nan)  # type: ignore[arg-type]


def test_a_row_is_judged_by_its_median() -> None:
    bar = Bar("at_most", 2.0, "<= 2 ms")
    assert Row("p50", "ms", Spread(1.0, 1.9, 9.0), bar).verdict == "met"
    assert Row("p50", "ms", Spread(1.0, 2.1, 2.2), bar).verdict == "**not met**"


def test_a_row_without_a_figure_is_never_met_and_says_why() -> None:
    row = Row("p50", "ms", None, Bar("at_most", 2.0, "<= 2 ms"), "the worker did not answer")
    assert row.verdict == "not measured"
    assert row.measured == "not measured: the worker did not answer"


def test_a_row_without_a_bar_has_no_verdict() -> None:
    row = Row("p99", "ms", Spread(1.0, 2.0, 3.0))
    assert (row.verdict, row.measured) == ("", "2.00 (1.00 to 3.00) ms")


def test_the_best_peer_is_the_one_with_the_best_median() -> None:
    assert best_rate([_SOON, _GONE, _FAST], batch=False) == ("fast", Spread(900.0, 1000.0, 5000.0))
    assert best_latency([_FAST, _GONE, _SOON]) == ("soon", Spread(2.0, 2.5, 3.0))


def test_a_batch_verb_counts_where_it_is_asked_for() -> None:
    assert best_rate([_SOON, _FAST], batch=True) == ("soon", Spread(1500.0, 1500.0, 1500.0))


def test_without_any_peer_there_is_no_best() -> None:
    assert best_rate([_GONE], batch=True) is None
    assert best_latency([]) is None


def test_a_ratio_pairs_the_worst_with_the_best() -> None:
    assert ratio(Spread(10.0, 20.0, 40.0), Spread(1.0, 2.0, 5.0)) == Spread(2.0, 10.0, 40.0)
