"""Claiming: the four orders, delays, deadlines, closed queues."""

import pytest

from dreamlake.lakeshore.dispatch.plane import Finished, RunConfig, Submission
from dreamlake.lakeshore.errors import ConfigError, ErrorInfo


def drain(plane, **options):
    found = []
    while (claimed := plane.claim("q", "w", **options)) is not None:
        found.append(claimed.id)
    return found


@pytest.fixture
def three_levels(plane):
    """Two invocations on each of three priorities, in mixed order of submission."""
    for number, (name, priority) in enumerate(
        [("mid1", 1.0), ("low1", -2.0), ("top1", 5.0), ("mid2", 1.0), ("top2", 5.0), ("low2", -2.0)]
    ):
        plane.submit("q", f"{number}".encode(), id=name, priority=priority)


def test_an_empty_queue_gives_nothing(plane):
    assert plane.claim("q", "w") is None
    assert plane.claim_many("q", "w", 10) == []


@pytest.mark.parametrize("kind", ["fifo", "priority"])
def test_fifo_gives_the_highest_priority_then_the_oldest(plane, three_levels, kind):
    assert drain(plane, kind=kind) == ["top1", "top2", "mid1", "mid2", "low1", "low2"]


def test_filo_gives_the_highest_priority_then_the_newest(plane, three_levels):
    assert drain(plane, kind="filo") == ["top2", "top1", "mid2", "mid1", "low2", "low1"]


@pytest.mark.parametrize("kind", ["fifo", "priority", "filo"])
def test_a_batch_is_claimed_in_the_same_order_as_one_by_one(plane, three_levels, kind):
    batch = plane.claim_many("q", "w", 4, kind=kind)
    plane.release([claimed.id for claimed in batch], "w")
    assert [claimed.id for claimed in batch] == drain(plane, kind=kind)[:4]


def test_boltzmann_gives_each_once_and_the_oldest_of_a_level_first(plane, three_levels):
    found = drain(plane, kind="boltzmann", temperature=2.0)
    assert sorted(found) == ["low1", "low2", "mid1", "mid2", "top1", "top2"]
    for level in ("low", "mid", "top"):
        assert found.index(f"{level}1") < found.index(f"{level}2")


def test_boltzmann_in_a_batch_gives_each_once(plane, three_levels):
    found = [claimed.id for claimed in plane.claim_many("q", "w", 10, kind="boltzmann", temperature=2.0)]
    assert sorted(found) == ["low1", "low2", "mid1", "mid2", "top1", "top2"]
    for level in ("low", "mid", "top"):
        assert found.index(f"{level}1") < found.index(f"{level}2")


def test_a_cold_boltzmann_queue_is_a_priority_queue(plane, three_levels):
    assert drain(plane, kind="boltzmann", temperature=1e-9) == [
        "top1",
        "top2",
        "mid1",
        "mid2",
        "low1",
        "low2",
    ]


def test_boltzmann_with_priorities_beyond_any_power(plane):
    for name, priority in (("big", 1e300), ("small", -1e300), ("zero", 0.0)):
        plane.submit("q", b"e", id=name, priority=priority)
    assert drain(plane, kind="boltzmann", temperature=0.5) == ["big", "zero", "small"]


def test_queues_are_apart(plane, submit):
    submit("a", queue="one")
    submit("b", queue="two")
    assert plane.claim("two", "w").id == "b"
    assert plane.claim("two", "w") is None


def test_a_claim_takes_a_row_from_everybody_else(plane, other, submit):
    submit("a")
    assert plane.claim("q", "w1").id == "a"
    assert other.claim("q", "w2") is None
    row = other.get("a")
    assert (row["state"], row["worker"], row["attempt"]) == ("running", "w1", 1)


def test_a_delayed_invocation_waits_for_its_time(plane, advance, submit):
    submit("late", delay_s=20, priority=9.0)
    submit("now")
    assert plane.count("q") == 2
    assert drain(plane) == ["now"]
    advance(19.9)
    assert plane.claim("q", "w") is None
    advance(0.2)
    assert plane.claim("q", "w").id == "late"


def test_delayed_ones_start_at_their_place_by_priority(plane, advance, submit):
    submit("late", delay_s=1, priority=9.0)
    submit("now")
    advance(2)
    assert drain(plane) == ["late", "now"]


def test_next_due_is_the_nearest_time_that_wants_a_claim(plane, advance, submit):
    assert plane.next_due("q") is None
    submit("now")
    assert plane.next_due("q") is None
    submit("late", delay_s=60)
    assert plane.next_due("q") == pytest.approx(60)
    plane.claim("q", "w", lease_s=20)
    assert plane.next_due("q") == pytest.approx(20)
    advance(25)
    assert plane.next_due("q") == 0.0


def test_next_due_of_a_paused_queue_is_none(plane, submit):
    submit("late", delay_s=60)
    plane.set_queue_state("q", "paused")
    assert plane.next_due("q") is None


def test_a_deadline_that_passed_ends_the_invocation_at_the_next_claim(plane, clock, advance, submit):
    submit("a", "b", deadline=clock.wall() + 10)
    submit("c")
    assert plane.claim("q", "w").id == "a"
    advance(11)
    assert [claimed.id for claimed in plane.claim_many("q", "w", 5)] == ["c"]
    assert plane.get("a")["state"] == "running"  # it started in time
    row = plane.get("b")
    assert row["state"] == "failed"
    assert row["error"]["type"] == "DeadlineExceeded"
    assert row["attempt"] == 0


def test_a_deadline_holds_for_a_delayed_invocation_too(plane, clock, advance, submit):
    submit("a", deadline=clock.wall() + 10, delay_s=100)
    assert plane.next_due("q") == pytest.approx(10)
    advance(10)
    assert plane.claim("q", "w") is None
    assert plane.get("a")["error"]["type"] == "DeadlineExceeded"


@pytest.mark.parametrize(
    ("state", "gives"), [("active", True), ("draining", False), ("paused", False), ("archived", False)]
)
def test_which_closed_queues_hand_out_work(plane, submit, state, gives):
    submit("a")
    plane.set_queue_state("q", state)
    assert (plane.claim("q", "w") is not None) is gives
    plane.set_queue_state("q", "active")
    assert (plane.claim("q", "w") is not None) is not gives


def test_an_unknown_kind_and_bad_numbers_are_refused(plane):
    with pytest.raises(ConfigError, match="fifo, priority, filo, boltzmann"):
        plane.claim("q", "w", kind="lifo")
    for bad in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="temperature"):
            plane.claim("q", "w", kind="boltzmann", temperature=bad)
        with pytest.raises(ConfigError, match="lease_s"):
            plane.claim("q", "w", lease_s=bad)


def test_a_large_batch_is_claimed_whole(plane):
    plane.submit_many("q", [Submission(f"i{n}", b"e", RunConfig(priority=n % 3)) for n in range(3000)])
    for kind in ("fifo", "filo", "boltzmann"):
        assert len(plane.claim_many("q", "w", 1000, kind=kind)) == 1000
    assert plane.count("q", "running") == 3000


def test_a_claim_tells_how_many_attempts_took_their_worker_down(plane, submit, advance):
    submit("a")
    first = plane.claim("q", "w")
    assert first.crashes == 0
    plane.ack_many("w", [Finished("a", 1, error=ErrorInfo("WorkerCrash", "gone"), retry=True, crashed=True)])
    assert plane.claim("q", "w", lease_s=5).crashes == 1
    advance(6)
    third = plane.claim("q", "w")
    assert (third.attempt, third.crashes) == (3, 2)
