"""One slot with its real child process: what it holds, what it hands back, whom it blames."""

import os
import select
import signal
import time

import pytest

from dreamlake.lakeshore.dispatch.plane import Claimed
from dreamlake.lakeshore.function.enveloping import envelope_of
from dreamlake.lakeshore.worker.outbox import DoneReport
from dreamlake.lakeshore.worker.postmortem import STOPPED, reports_after_death, timed_out
from dreamlake.lakeshore.worker.slot import Slot


@pytest.fixture
def slot(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKESHORE_HOME", str(tmp_path))
    made = Slot({"root": str(tmp_path), "allow_pickled": True, "runtime_policy": "minor", "retries": 1})
    until(made, lambda _reports: made.ready, "the child is ready")
    yield made
    made.kill(STOPPED)
    made.reap()
    made.close()


def until(slot, condition, what, limit=15):
    """Read what the child says until a condition holds; all reports so far."""
    reports = []
    ends = time.monotonic() + limit
    while not condition(reports):
        assert time.monotonic() < ends, f"not within {limit} s: {what}"
        select.select([slot.channel], [], [], 0.05)
        reports += slot.read()
    return reports


def job(name, fn, *args):
    envelope = envelope_of(fn, args, {}, inv_id=name, key=None)
    return Claimed(name, envelope.to_bytes(), 1, "q")


def wait_running(slot, name):
    ends = time.monotonic() + 10
    while (running := slot.running()) is None or running[0].id != name:
        assert time.monotonic() < ends, f"{name} never ran"
        time.sleep(0.002)


def test_claims_that_are_sent_are_held_until_they_are_reported(slot):
    jobs = [job(f"i{n}", int, str(n)) for n in range(3)]
    slot.send(jobs)
    assert slot.held == jobs
    reports = until(slot, lambda got: len(got) == 3, "three reports")
    assert [report.finished.id for report in reports] == ["i0", "i1", "i2"]
    assert all(isinstance(report, DoneReport) and report.finished.error is None for report in reports)
    assert slot.is_idle


def test_claim_taken_back_in_the_moment_of_its_start_is_handed_back_not_lost(slot):
    """Both sides see the other's note: the child does not start it, and the parent thinks that it did."""
    slot._progress.take_back(1, 2)  # the parent's note, made visible before the child looks
    only = job("i", int, "1")
    slot.send([only])
    until(slot, lambda _got: slot.is_idle, "the child says that it skipped it")
    assert slot.take_skipped() == [only]
    assert slot.take_skipped() == []


def test_taking_back_leaves_what_runs(slot):
    first, *others = [job("long", time.sleep, 0.3), *(job(f"i{n}", int, "1") for n in range(5))]
    slot.send([first, *others])
    wait_running(slot, "long")
    assert slot.take_back() == others
    assert slot.held == [first]
    reports = until(slot, lambda got: len(got) == 1, "the report of what ran")
    assert reports[0].finished.id == "long"
    assert slot.is_idle


def test_job_that_runs_when_its_process_is_ended_for_another_one_is_not_blamed(slot):
    other, runs = job("other", int, "1"), job("runs", time.sleep, 60)
    slot.send([runs])
    wait_running(slot, "runs")
    slot.kill(timed_out(1.0), other)
    status, _ = slot.reap()
    (report,), unstarted = reports_after_death(slot, status, out_of_memory=False, retries=0)
    assert unstarted == []
    assert report.finished.retry
    assert report.finished.error.type == "WorkerStopped"


def test_death_blames_what_ran_and_hands_back_what_did_not(slot):
    runs, behind = job("runs", os.kill, 0, int(signal.SIGKILL)), job("behind", int, "1")
    slot.send([runs, behind])
    os_status, _ = _reap_when_dead(slot)
    (report,), unstarted = reports_after_death(slot, os_status, out_of_memory=True, retries=0)
    assert unstarted == [behind]
    assert report.finished.crashed
    assert report.finished.retry
    assert "out-of-memory killer ended it" in report.finished.error.message


def _reap_when_dead(slot):
    try:
        until(slot, lambda _got: False, "the child's end", limit=10)
    except EOFError:
        return slot.reap()
    raise AssertionError("unreachable")
