"""Ends: each attempt acknowledged once, a terminal state for good."""

import pytest

from dreamlake.lakeshore.dispatch.plane import Finished, WorkerRecord
from dreamlake.lakeshore.errors import (
    DispatchError,
    ErrorInfo,
    FencedError,
    InvocationCancelledError,
    InvocationFailedError,
)


def test_success_gives_the_result(plane, other, submit, run_one):
    submit("a")
    run_one(b"\0result\xff")
    assert other.result("a") == b"\0result\xff"
    row = other.get("a")
    assert (row["state"], row["attempt"], row["error"]) == ("succeeded", 1, None)


def test_an_attempt_is_acknowledged_once(plane, submit, run_one):
    submit("a")
    run_one(b"first")
    with pytest.raises(FencedError, match="which is succeeded"):
        plane.ack("a", "w", result=b"second", attempt=1)
    assert plane.result("a") == b"first"


def test_an_ack_needs_the_claiming_worker_and_attempt(plane, submit):
    submit("a")
    plane.claim("q", "w")
    with pytest.raises(FencedError):
        plane.ack("a", "stranger", result=b"r")
    with pytest.raises(FencedError):
        plane.ack("a", "w", result=b"r", attempt=2)
    with pytest.raises(FencedError, match="not on this plane"):
        plane.ack("unknown", "w")
    assert plane.get("a")["state"] == "running"
    plane.ack("a", "w", result=b"r")


@pytest.mark.parametrize(
    "error", ["boom", {"type": "ValueError", "message": "boom"}, ErrorInfo("ValueError", "boom", "trace")]
)
def test_a_failure_without_retry_is_final_and_told(plane, submit, error):
    submit("a")
    plane.claim("q", "w")
    plane.nack("a", "w", error=error, retry=False)
    kind = "Error" if error == "boom" else "ValueError"
    with pytest.raises(InvocationFailedError, match=f"^invocation a failed: {kind}: boom$") as caught:
        plane.result("a")
    assert caught.value.error.message == "boom"
    assert plane.get("a")["error"]["type"] == kind


def test_an_error_with_any_characters_survives(plane, submit):
    submit("a")
    plane.claim("q", "w")
    told = ErrorInfo("Odd", "nul \0, lone surrogate \udcff, snowman ☃", "line\nline")
    plane.nack("a", "w", error=told, retry=False)
    with pytest.raises(InvocationFailedError) as caught:
        plane.result("a")
    assert caught.value.error == told


def test_a_failure_with_retry_queues_again_after_its_pause(plane, advance, submit):
    submit("a", "b")
    plane.claim("q", "w")
    plane.nack("a", "w", error="boom", retry=True, delay_s=10)
    row = plane.get("a")
    assert (row["state"], row["worker"], row["error"]["message"]) == ("queued", None, "boom")
    assert plane.claim("q", "w").id == "b"
    assert plane.claim("q", "w") is None
    advance(10)
    claimed = plane.claim("q", "w")
    assert (claimed.id, claimed.attempt) == ("a", 2)


def test_many_reports_in_one_go(plane, submit):
    submit("ok", "failed", "retried", "fenced", "cancelled")
    plane.claim_many("q", "w", 5)
    plane.release(["fenced"], "w")
    plane.cancel("cancelled")
    lost = plane.ack_many(
        "w",
        [
            Finished("ok", 1, b"r"),
            Finished("failed", 1, error=ErrorInfo("E", "m")),
            Finished("retried", 1, error=ErrorInfo("E", "m"), retry=True),
            Finished("fenced", 1, b"r"),
            Finished("cancelled", 1, b"r"),
            Finished("unknown", 1, b"r"),
        ],
    )
    assert lost == {"fenced", "cancelled", "unknown"}
    states = [plane.get(name)["state"] for name in ("ok", "failed", "retried", "fenced", "cancelled")]
    assert states == ["succeeded", "failed", "queued", "queued", "cancelled"]


def test_one_fenced_success_among_many_keeps_none_of_the_others_back(plane, submit):
    names = [f"i{n}" for n in range(20)]
    submit(*names)
    plane.claim_many("q", "w", 20)
    plane.cancel("i7")
    assert plane.ack_many("w", [Finished(name, 1, name.encode()) for name in names]) == {"i7"}
    assert plane.result("i8") == b"i8"
    assert plane.count("q", "succeeded") == 19
    assert plane.signals("q").finished == 19


def test_cancel_ends_queued_and_running_ones_only(plane, other, submit, run_one):
    submit("done")
    run_one()
    submit("running", "queued")
    plane.claim("q", "w")
    assert other.cancel("queued")
    assert other.cancel("running")
    assert not other.cancel("queued")
    assert not other.cancel("done")
    assert not other.cancel("unknown")
    with pytest.raises(InvocationCancelledError, match="queued was cancelled"):
        plane.result("queued")
    with pytest.raises(FencedError, match="which is cancelled"):
        plane.ack("running", "w", result=b"r")
    assert plane.claim("q", "w") is None
    assert plane.result("done") == b"r"


def test_a_result_that_is_not_there_in_time_says_what_to_do(plane, submit):
    submit("a")
    with pytest.raises(TimeoutError) as caught:
        plane.result("a", timeout=0.05)
    assert str(caught.value).startswith("invocation a still 'queued' after 0.05s: ")
    assert "`lakeshore worker start --queue q`" in str(caught.value)
    plane.claim("q", "w")
    with pytest.raises(TimeoutError, match=r"^invocation a still 'running' after 0s: ask again"):
        plane.result("a", timeout=0)
    plane.release(["a"], "w")
    plane.set_queue_state("q", "paused")
    with pytest.raises(TimeoutError, match="queue 'q' is paused"):
        plane.result("a", timeout=0.01)


def test_a_result_that_waits_for_busy_workers_says_so_unless_they_are_long_gone(plane, submit, advance):
    now = plane.now()
    plane.register_worker(WorkerRecord("w", "q", "host", 1, "active", 1, now, now))
    submit("a")
    with pytest.raises(TimeoutError, match=r"its queue's workers \(1\) are busy"):
        plane.result("a", timeout=0)
    advance(3600)
    with pytest.raises(TimeoutError, match="no worker is consuming queue 'q'"):
        plane.result("a", timeout=0)


def test_the_result_of_an_unknown_id_is_an_error_at_once(plane):
    with pytest.raises(DispatchError, match="no invocation nobody on this plane"):
        plane.result("nobody", timeout=30)


def test_a_success_without_result_gives_no_bytes(plane, submit):
    submit("a")
    plane.claim("q", "w")
    plane.ack("a", "w")
    assert plane.result("a") == b""


def test_a_closed_plane_says_so(plane):
    plane.close()
    plane.close()
    with pytest.raises(DispatchError, match=r"is closed: open a new (Http)?Dispatch"):
        plane.count("q")


def test_many_are_cancelled_at_once_and_only_those_that_had_not_ended(plane, submit, run_one):
    submit("ended", "running", "queued", "kept")
    run_one()
    plane.claim("q", "w")
    assert plane.cancel_many(["ended", "running", "unknown", "queued", "queued"]) == {"running", "queued"}
    assert plane.cancel_many(["running", "queued"]) == set()
    assert plane.cancel_many([]) == set()
    states = [plane.get(name)["state"] for name in ("ended", "running", "queued", "kept")]
    assert states == ["succeeded", "cancelled", "cancelled", "queued"]
    assert plane.renew(["running"], "w") == {"running"}


def test_more_are_cancelled_than_a_request_holds(plane, submit):
    ids = [f"job-{n}" for n in range(1200)]
    submit(*ids)
    assert plane.cancel_many(ids) == set(ids)
    assert plane.count("q") == 0
