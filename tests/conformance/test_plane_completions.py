"""Streams of outcomes: each once, in time, whatever the order of adding and ending."""

import threading
import time

import pytest

from dreamlake.lakeshore.dispatch.plane import Finished, Outcome, Submission
from dreamlake.lakeshore.errors import DispatchError, ErrorInfo

LIMIT_S = 20


@pytest.fixture
def stream(plane):
    opened = plane.completions()
    yield opened
    opened.close()


def test_each_kind_of_end_is_reported(plane, stream, submit):
    submit("ok", "failed", "cancelled", "waiting")
    stream.add(["ok", "failed", "cancelled", "waiting"])
    plane.claim_many("q", "w", 2)
    plane.ack("ok", "w", result=b"r", attempt=1)
    plane.nack("failed", "w", error=ErrorInfo("E", "m"), retry=False)
    plane.cancel("cancelled")
    assert sorted(stream.wait(0)) == [
        Outcome("cancelled", "cancelled", None, None, 0),
        Outcome("failed", "failed", None, ErrorInfo("E", "m"), 1),
        Outcome("ok", "succeeded", b"r", None, 1),
    ]
    assert stream.wait(0) == []


def test_one_that_had_ended_before_is_reported_once(plane, stream, submit, run_one):
    submit("a")
    run_one()
    stream.add(["a"])
    stream.add(["a"])
    assert [outcome.id for outcome in stream.wait(0)] == ["a"]
    assert stream.wait(0) == []


def test_ends_between_opening_and_adding_are_reported_once(plane, stream, submit, run_one):
    submit("a", "b")
    run_one()
    stream.add(["a", "b"])
    run_one()
    assert sorted(outcome.id for outcome in stream.wait(0)) == ["a", "b"]
    assert stream.wait(0) == []


def test_others_are_not_reported(plane, stream, submit, run_one):
    submit("other", "ours")
    stream.add(["ours"])
    run_one()
    assert stream.wait(0) == []
    run_one()
    assert [outcome.id for outcome in stream.wait(0)] == ["ours"]


def test_an_unknown_id_is_watched_until_it_exists_and_ends(plane, stream, submit, run_one):
    stream.add(["later"])
    assert stream.wait(0) == []
    submit("later")
    run_one()
    assert [outcome.id for outcome in stream.wait(0)] == ["later"]


def test_a_wait_is_woken_by_an_end_elsewhere(plane, other, stream, submit):
    submit("a")
    stream.add(["a"])
    claimed = other.claim("q", "w")
    timer = threading.Timer(0.05, lambda: other.ack("a", "w", result=b"r", attempt=claimed.attempt))
    timer.start()
    began = time.monotonic()
    assert [outcome.id for outcome in stream.wait(LIMIT_S)] == ["a"]
    assert time.monotonic() - began < LIMIT_S / 2
    timer.join()


def test_ten_thousand_watched_among_as_many_others(plane, stream):
    ours = [f"ours{n}" for n in range(10_000)]
    for start in range(0, 10_000, 500):
        plane.submit_many("q", [Submission(name, b"e") for name in ours[start : start + 500]])
        plane.submit_many("q", [Submission(f"theirs{start + n}", b"e") for n in range(500)])
    stream.add(ours[:5000])
    while claimed := plane.claim_many("q", "w", 1000):
        assert plane.ack_many("w", [Finished(job.id, 1, b"r") for job in claimed]) == set()
    stream.add(ours[5000:])
    seen = [outcome.id for outcome in stream.wait(0)]
    assert len(seen) == 10_000
    assert set(seen) == set(ours)


def test_a_poisoned_and_an_overdue_invocation_are_reported(plane, stream, submit, advance, clock):
    submit("poison")
    submit("overdue", deadline=clock.wall() + 1, delay_s=0.5)
    stream.add(["poison", "overdue"])
    for _ in range(4):
        plane.claim("q", "w", lease_s=1)
        advance(2)
    assert sorted((outcome.id, outcome.error.type) for outcome in stream.wait(0)) == [
        ("overdue", "DeadlineExceeded"),
        ("poison", "PoisonJob"),
    ]


def test_a_closed_stream_says_so(plane):
    stream = plane.completions()
    stream.close()
    stream.close()
    with pytest.raises(DispatchError, match="closed"):
        stream.wait(0)
