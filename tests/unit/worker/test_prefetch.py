"""A slot holds as many claims as will start within about 100 ms, whatever their number."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore.worker.prefetch import HOLD_S, MOST, Prefetch


def test_before_anything_is_known_one_claim_is_held():
    assert Prefetch().window == 1


def test_short_bodies_open_the_window_step_by_step():
    prefetch = Prefetch()
    seen = []
    for _ in range(14):
        prefetch.observe(0.00002 * prefetch.window, prefetch.window)
        seen.append(prefetch.window)
    assert seen[0] == 2
    assert seen[-1] == MOST
    assert all(after <= 2 * before for before, after in pairwise(seen))


def test_one_long_body_closes_it_at_once():
    prefetch = Prefetch()
    for _ in range(12):
        prefetch.observe(0.0001, 1)
    prefetch.observe(5.0, 1)
    assert prefetch.window == 1


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 500)), max_size=50))
def test_the_window_stays_within_its_bounds(observations):
    prefetch = Prefetch()
    for total, bodies in observations:
        prefetch.observe(total, bodies)
        assert 1 <= prefetch.window <= MOST


@given(st.floats(1e-4, 1.0))
def test_a_steady_pace_ends_with_about_a_tenth_of_a_second_held(each):
    prefetch = Prefetch()
    for _ in range(40):
        prefetch.observe(each, 1)
    assert prefetch.window == 1 or prefetch.window * each <= HOLD_S * 1.01
