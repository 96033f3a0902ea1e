"""Leases: renewed, run out, handed back; workers that die, and work that kills them."""

import pytest

from dreamlake.lakeshore.dispatch.plane import DEFAULT_MAX_ATTEMPTS, Finished
from dreamlake.lakeshore.errors import ErrorInfo, FencedError


def test_report_01_the_work_of_a_killed_worker_is_attempt_2_of_another(plane, other, advance, submit):
    submit("a")
    plane.claim("q", "killed", lease_s=30)
    advance(29)
    assert other.claim("q", "w2") is None
    advance(2)
    claimed = other.claim("q", "w2")
    assert (claimed.id, claimed.attempt) == ("a", 2)
    error = other.get("a")["error"]
    assert error["type"] == "WorkerLost"
    assert "killed" in error["message"]
    assert "attempt 1" in error["message"]
    other.ack("a", "w2", result=b"ok", attempt=2)
    assert plane.result("a") == b"ok"
    assert plane.get("a")["error"] is None


def test_report_02_five_leases_long_with_renewals_is_one_attempt(plane, advance, submit):
    submit("a")
    plane.claim("q", "w", lease_s=30)
    for _ in range(15):
        advance(10)
        assert plane.renew(["a"], "w", lease_s=30) == set()
        assert plane.claim("q", "thief") is None
    plane.ack("a", "w", result=b"r", attempt=1)
    assert plane.get("a")["attempt"] == 1


def test_a_frozen_worker_that_acks_late_is_fenced_and_changes_nothing(plane, advance, submit):
    submit("a")
    plane.claim("q", "frozen", lease_s=30)
    advance(31)
    plane.claim("q", "w2")
    before = plane.get("a")
    for report in (
        lambda: plane.ack("a", "frozen", result=b"late"),
        lambda: plane.ack("a", "frozen", result=b"late", attempt=1),
        lambda: plane.nack("a", "frozen", error="late", attempt=1),
        lambda: plane.journal_append_many("a", [], worker_id="frozen"),
    ):
        with pytest.raises(FencedError, match=r"frozen no longer holds invocation a.*attempt 2 on w2"):
            report()
    assert plane.ack_many("frozen", [Finished("a", 1, b"late")]) == {"a"}
    assert plane.renew(["a"], "frozen") == {"a"}
    assert plane.release(["a"], "frozen") == 0
    assert plane.get("a") == before


def test_a_late_ack_counts_while_nobody_has_taken_the_work(plane, advance, submit):
    submit("a")
    plane.claim("q", "slow", lease_s=30)
    advance(300)
    plane.ack("a", "slow", result=b"r", attempt=1)
    assert plane.result("a") == b"r"


def test_the_same_worker_with_an_older_attempt_is_fenced(plane, advance, submit):
    submit("a")
    plane.claim("q", "w", lease_s=1)
    advance(2)
    assert plane.claim("q", "w").attempt == 2
    with pytest.raises(FencedError):
        plane.ack("a", "w", attempt=1)
    plane.ack("a", "w", attempt=2)


def test_renew_tells_what_is_lost(plane, submit):
    submit("held", "cancelled", "done", "released")
    plane.claim_many("q", "w", 4)
    plane.cancel("cancelled")
    plane.ack("done", "w")
    plane.release(["released"], "w")
    lost = plane.renew(["held", "cancelled", "done", "released", "unknown"], "w")
    assert lost == {"cancelled", "done", "released", "unknown"}


def test_a_released_claim_is_back_at_its_place_with_its_attempt(plane, submit):
    submit("a", "b", "c")
    plane.claim_many("q", "w", 3)
    assert plane.release(["b", "a"], "w") == 2
    assert plane.release(["a"], "w") == 0
    again = plane.claim_many("q", "w2", 3)
    assert [(claimed.id, claimed.attempt) for claimed in again] == [("a", 1), ("b", 1)]
    with pytest.raises(FencedError):
        plane.ack("a", "w", attempt=1)


def test_all_the_leases_of_a_dead_worker_are_taken_over_at_once(plane, advance, submit):
    names = [f"i{n}" for n in range(50)]
    submit(*names)
    plane.claim_many("q", "dead", 50, lease_s=10)
    advance(11)
    taken = plane.claim_many("q", "w", 50)
    assert [(claimed.id, claimed.attempt) for claimed in taken] == [(name, 2) for name in names]


def test_work_that_kills_its_workers_ends_as_poison(plane, advance, submit):
    submit("bad", "good")
    for attempt in range(1, DEFAULT_MAX_ATTEMPTS + 1):
        assert plane.claim("q", f"w{attempt}", lease_s=10).attempt == attempt
        advance(11)
    assert plane.claim("q", "w").id == "good"
    row = plane.get("bad")
    assert row["state"] == "failed"
    assert row["error"]["type"] == "PoisonJob"
    assert f"{DEFAULT_MAX_ATTEMPTS} times" in row["error"]["message"]
    assert f"worker w{DEFAULT_MAX_ATTEMPTS} stopped renewing" in row["error"]["message"]


def test_reported_crashes_count_like_lost_leases(plane, advance, submit):
    submit("bad")
    killed = ErrorInfo("WorkerKilled", "signal 11 (SIGSEGV)")
    plane.claim("q", "w", lease_s=10)
    advance(11)
    for attempt in range(2, DEFAULT_MAX_ATTEMPTS + 1):
        assert plane.claim("q", "w").attempt == attempt
        report = Finished("bad", attempt, error=killed, retry=True, crashed=True)
        assert plane.ack_many("w", [report]) == set()
    error = plane.get("bad")["error"]
    assert error["type"] == "PoisonJob"
    assert "SIGSEGV" in error["message"]


def test_a_crash_that_may_not_be_retried_ends_with_its_own_reason(plane, submit):
    submit("bad")
    plane.claim("q", "w")
    report = Finished("bad", 1, error=ErrorInfo("WorkerKilled", "out of memory"), retry=False, crashed=True)
    assert plane.ack_many("w", [report]) == set()
    assert plane.get("bad")["error"]["type"] == "WorkerKilled"


def test_failed_attempts_do_not_count_as_crashes(plane, submit):
    submit("a")
    for _ in range(DEFAULT_MAX_ATTEMPTS + 2):
        plane.claim("q", "w")
        plane.nack("a", "w", error="again", retry=True)
    assert plane.get("a")["state"] == "queued"
    assert plane.get("a")["crashes"] == 0


def test_leases_and_deadlines_shrug_at_the_wall_clock(plane, clock, submit):
    """Report 32, on the rows: an hour back and forth changes neither leases nor delays nor deadlines."""
    submit("delayed", delay_s=100)
    submit("leased", deadline=clock.wall() + 1000)
    plane.claim("q", "w", lease_s=50)
    for step in (3600, -7200, 86400):
        clock.wall_time += step
        assert plane.claim("q", "thief") is None
        assert plane.next_due("q") == pytest.approx(50)
