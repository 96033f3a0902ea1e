"""How much a queue takes in: limits, the document's guards and the plan agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshore_controlplane.faults import QueueFull, RateLimited
from lakeshore_controlplane.services.room import Limits, Room, limits_of, refusal_of, room_in, wish_of
from lakeshore_controlplane.store.mongo.admission import Book

NOW = 1_800_000_000.0
limits = st.builds(
    Limits,
    max_depth=st.none() | st.integers(0, 50),
    rate=st.none() | st.floats(0.01, 1e4),
    burst=st.floats(1, 100),
)
books = st.builds(
    Book,
    depth=st.integers(0, 60),
    version=st.just(1),
    paid_until=st.floats(NOW - 100, NOW + 100),
    pending=st.just({}),
)


def admits(book, wish, n):
    """Say what the guarded update of ``AdmissionRows.reserve`` would do."""
    deep = wish.most_depth is None or book.depth <= wish.most_depth - n
    return deep and (wish.most_paid_until is None or book.paid_until <= wish.most_paid_until)


@given(limits, books, st.integers(1, 20))
def test_what_is_planned_gets_through_the_guards_and_more_does_not(limits, book, least):
    room = room_in(limits, book, NOW, least)
    if room.rows < least:
        assert not admits(book, wish_of(limits, ("i",) * least, NOW - 1e-4), least)
        assert room.paid_in_s >= 0
    else:
        n = min(room.rows, 200)
        assert admits(book, wish_of(limits, ("i",) * n, NOW), n)


@given(
    limits.filter(lambda limits: limits.rate is not None and limits.max_depth is None),
    books,
    st.integers(1, 20),
)
def test_after_the_time_that_was_told_the_rate_lets_enough_in(limits, book, least):
    room = room_in(limits, book, NOW, least)
    if room.paid_in_s > 0 and least <= limits.most_at_once:
        assert room_in(limits, book, NOW + room.paid_in_s + 1e-5, least).rows >= least


@pytest.mark.parametrize(
    ("admission", "expected"),
    [
        ({}, Limits()),
        ({"max_depth": 5, "on_full": "reject"}, Limits(5)),
        ({"max_depth": 5, "on_full": "block"}, Limits(5, waits=True)),
        ({"rate_limit": {"rate": 2.5, "burst": 7}}, Limits(None, 2.5, 7.0)),
        ({"rate_limit": {"rate": 2.5}}, Limits(None, 2.5, 2.5)),
        ({"rate_limit": {"rate": 0.1}}, Limits(None, 0.1, 1.0)),
        ({"deadline_cutoff_s": 3.0}, Limits()),
    ],
)
def test_a_queues_limits_are_read_from_its_admission(admission, expected):
    assert limits_of(admission) == expected
    assert expected.any == (expected.max_depth is not None or expected.rate is not None)


def test_refusals_say_what_to_do():
    full = refusal_of("q", Limits(3), Room(0), 1)
    assert isinstance(full, QueueFull)
    assert "raise its max_depth" in str(full)
    late = refusal_of("q", Limits(3, 2.0, 4.0), Room(0, 0.25), 1)
    assert isinstance(late, RateLimited)
    assert late.retry_after_s == 0.25
