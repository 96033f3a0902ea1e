"""What a report makes of a row, without any store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshore_controlplane.services.attempt_ends import cancel_of, expiry_of, grouped
from lakeshore_controlplane.services.finishing_plan import (
    Accepted,
    Repeated,
    Report,
    accept,
    fate_of,
    fenced_text,
    repeat_of,
)
from lakeshore_controlplane.services.row_errors import error_from_row, error_to_row

NOW = 500.0


def running(**changes):
    row = {
        "_id": "ns/a",
        "namespaceId": "ns",
        "state": "running",
        "workerId": "w",
        "attempt": 2,
        "crashes": 0,
        "leaseUntil": 400.0,
        "claimId": "c",
    }
    return {**row, **changes}


def after(row, change):
    """The row that a change makes, whose guard must hold."""
    for field, value in change.guard.items():
        assert row[field] == value or (isinstance(value, tuple) and row[field] in value)
    made = {**row, **change.sets}
    for field, more in change.adds.items():
        made[field] += more
    return {field: value for field, value in made.items() if field not in change.unsets}


reports = st.builds(
    Report,
    id=st.just("a"),
    attempt=st.sampled_from([None, 1, 2]),
    state=st.sampled_from(["succeeded", "failed", "killed", "timeout"]),
    result=st.none() | st.binary(max_size=3),
    error=st.none() | st.fixed_dictionaries({"type": st.text(max_size=3), "message": st.text(max_size=3)}),
    retry=st.booleans(),
    delay_s=st.sampled_from([0.0, 5.0]),
    crashed=st.booleans(),
)


@given(report=reports, crashes=st.integers(0, 2), worker=st.sampled_from([None, "w"]))
def test_a_report_that_was_taken_is_known_again_with_its_answer_and_others_are_not(report, crashes, worker):
    row = running(crashes=crashes)
    fate = fate_of(report, worker, row, NOW)
    if report.attempt == 1:
        assert fate is None
        return
    made = after(row, fate.change)
    assert made["state"] == fate.state
    assert "leaseUntil" not in made
    assert repeat_of(report, worker, made) == Repeated(fate.state)
    assert fate_of(report, worker, made, NOW + 9) == Repeated(fate.state)
    assert repeat_of(report, "other", made) is None
    other = Report("a", 2, "succeeded", result=b"something else")
    assert repeat_of(other, worker, made) is None


@given(report=reports, worker=st.sampled_from(["w", "stranger"]))
def test_no_report_moves_a_row_that_does_not_run(report, worker):
    for state in ("queued", "succeeded", "failed", "killed", "timeout"):
        assert fate_of(report, worker, running(state=state), NOW) is None
    assert fate_of(report, worker, None, NOW) is None


@pytest.mark.parametrize(
    ("report", "state", "crashes"),
    [
        (Report("a", 2, "failed", retry=True), "queued", 0),
        (Report("a", 2, "timeout"), "timeout", 0),
        (Report("a", 2, "failed", crashed=True), "failed", 1),
        (Report("a", 2, "failed", crashed=True, retry=True), "queued", 1),
        (Report("a", 2, "succeeded", crashed=True, retry=True), "succeeded", 0),
    ],
)
def test_states_and_crashes_of_reports(report, state, crashes):
    made = after(running(), fate_of(report, "w", running(), NOW).change)
    assert (made["state"], made["crashes"]) == (state, crashes)


def test_the_third_crash_is_poison_whoever_notices_it():
    row = running(crashes=2)
    error = {"type": "Killed", "message": "SIGKILL", "traceback": "trace"}
    report = Report("a", 2, "failed", error=error, retry=True, crashed=True)
    told = after(row, fate_of(report, "w", row, NOW).change)
    noticed = after(row, expiry_of(row, NOW, "stamp"))
    for made in (told, noticed):
        assert (made["state"], made["crashes"], made["finishedAt"]) == ("failed", 3, NOW)
        assert made["error"]["type"] == "PoisonJob"
    assert told["error"]["traceback"] == "trace"


def test_equal_reports_of_many_rows_are_one_change_and_odd_ones_are_not():
    same = [accept(Report(f"i{n}", 1, "succeeded", result=b"r"), "w", f"ns/i{n}", NOW) for n in range(5)]
    odd = [accept(Report("x", 1, "succeeded", result=b"other"), "w", "ns/x", NOW)]
    odd += [accept(Report("y", 2, "succeeded", result=b"r"), "w", "ns/y", NOW)]
    found = grouped([one.change for one in same + odd])
    assert [change.keys for change in found] == [tuple(f"ns/i{n}" for n in range(5)), ("ns/x",), ("ns/y",)]
    named = [Report(f"i{n}", 1, "succeeded", result=bytes([n]), report_id="one") for n in range(2)]
    assert len(grouped([accept(one, "w", f"ns/{one.id}", NOW).change for one in named])) == 2


def test_cancelled_and_overdue_ones_read_as_the_sdk_calls_them():
    assert "which is cancelled" in fenced_text("a", "w", running(state="killed"))
    assert "which is failed" in fenced_text("a", "w", running(state="timeout"))
    assert after(running(), cancel_of(("ns/a",), NOW, "stamp"))["error"] is None


@given(st.dictionaries(st.sampled_from(["type", "message", "traceback"]), st.text() | st.just("\udcff\0")))
def test_errors_come_back_as_they_were_told(error):
    stored = error_to_row(error)
    for value in stored.values():
        assert isinstance(value, bytes) or value.encode() is not None
    assert error_from_row(stored) == {"type": "Error", "message": "", **error}
    assert error_to_row(None) is None
    assert error_from_row(None) is None


def test_an_accepted_report_without_a_row_is_guarded_by_what_it_says():
    accepted = accept(Report("a", 4, "succeeded"), "w", "ns/a", NOW)
    assert isinstance(accepted, Accepted)
    assert accepted.change.guard == {"state": "running", "workerId": "w", "attempt": 4}
    assert accept(Report("a", None, "succeeded"), None, "ns/a", NOW).change.guard == {"state": "running"}
