"""Retries: how many, how long the pause, and which errors are not worth one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore.attempt.retrying import may_retry, pause_s, retries_left
from dreamlake.lakeshore.dispatch.plane import Backoff, Claimed
from dreamlake.lakeshore.errors import TransportError, WireError, WorkerError


def job(attempt, *, retries=None, crashes=0):
    return Claimed("id", b"", attempt, "q", retries=retries, crashes=crashes)


@pytest.mark.parametrize(
    ("attempt", "retries", "again"), [(1, 0, False), (1, 1, True), (2, 1, False), (2, 3, True), (4, 3, False)]
)
def test_an_attempt_is_repeated_while_its_number_is_within_the_retries(attempt, retries, again):
    assert may_retry(ValueError("x"), job(attempt), retries) is again
    assert may_retry(ValueError("x"), job(attempt, retries=retries), 99) is again


def test_attempts_that_took_their_process_down_use_up_no_retries():
    assert retries_left(job(3, crashes=2), 1)
    assert not retries_left(job(3, crashes=1), 1)


@pytest.mark.parametrize("error", [TransportError("no"), WorkerError("no"), WireError("no")])
def test_a_function_that_cannot_be_had_is_not_tried_again(error):
    assert not may_retry(error, job(1), 5)


@given(st.integers(1, 2000), st.floats(0, 1, exclude_max=True))
def test_the_pause_is_drawn_below_an_exponential_ceiling(attempt, draw):
    backoff = Backoff(base_s=0.5, cap_s=60)
    pause = pause_s(backoff, attempt, lambda: draw)
    assert 0 <= pause <= min(60, 0.5 * 2 ** min(attempt - 1, 60))
    assert pause == pytest.approx(draw * min(60.0, 0.5 * 2.0 ** min(attempt - 1, 60)))


def test_without_a_backoff_of_its_own_the_default_one_holds():
    assert pause_s(None, 3, lambda: 1.0) == Backoff().base_s * 4
