"""A body may end its process in any way: the worker lives, and the job is tried again or says what happened."""

import signal

import pytest
import worker_bodies as bodies

import dreamlake.lakeshore as dls
from dreamlake.lakeshore.dispatch.plane import Backoff
from dreamlake.lakeshore.errors import InvocationFailedError

SOON = Backoff(base_s=0.0, cap_s=0.0)


def failure_of(site, job, timeout=15):
    with pytest.raises(InvocationFailedError) as caught:
        site.queue.result(job, timeout=timeout)
    return caught.value.error


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ((bodies.segfault,), "SIGSEGV"),
        ((bodies.exit_with, 3), "exited with status 3"),
        ((bodies.exit_with, 0), "exited with status 0"),
        ((bodies.die_by, int(signal.SIGKILL)), "SIGKILL (often the out-of-memory killer)"),
    ],
    ids=["segfault", "exit 3", "exit 0", "SIGKILL"],
)
def test_job_that_takes_its_process_down_three_times_is_poison_and_the_worker_lives(site, call, words):
    worker = site.start()
    poison = site.queue.submit(*call, _backoff=SOON, _retries=0)
    error = failure_of(site, poison)
    assert error.type == "PoisonJob"
    assert "3 times" in error.message
    assert words in error.message
    assert site.plane.get(poison)["attempt"] == 3
    assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3
    assert [record.pid for record in site.plane.workers()] == [worker.pid]


def test_job_whose_process_was_killed_twice_ends_well_the_third_time_without_retries(site):
    site.start()
    job = site.queue.submit(bodies.die_until_attempt, 3, site.note(), _retries=0, _backoff=SOON)
    assert site.queue.result(job, timeout=15) == 3
    assert site.lines() == ["attempt 1", "attempt 2", "attempt 3"]


def test_processes_left_by_a_dead_body_neither_hide_its_death_nor_live_on(site, gone):
    site.start()
    job = site.queue.submit(bodies.fork_a_sleeper_and_die, site.note(), _backoff=SOON)
    error = failure_of(site, job)
    assert "exited with status 3" in error.message
    for pid in site.lines():
        gone(int(pid))


def test_jobs_claimed_together_with_a_deadly_one_are_repeated_once_at_most(site):
    """Those that ended just before it may have their reports die with the process; those behind it never ran."""
    worker = site.start()
    warm_up = site.queue.submit_many(bodies.attempt_of, range(200))
    assert {value for _, value in site.queue.results(warm_up, timeout=15)} == {1}
    before = site.queue.submit_many(bodies.attempt_of, range(20))
    deadly = site.queue.submit(bodies.exit_with, 3, _backoff=SOON)
    after = site.queue.submit_many(bodies.attempt_of, range(20))
    assert failure_of(site, deadly).type == "PoisonJob"
    assert {value for _, value in site.queue.results(before, timeout=15)} <= {1, 2}
    assert {value for _, value in site.queue.results(after, timeout=15)} == {1}
    assert worker.process.poll() is None


@pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])
def test_body_over_its_time_limit_is_ended_and_says_so(site, flags):
    site.start(*flags)
    job = site.queue.submit(bodies.sleep, 60, site.note(), _timeout_s=0.3, _retries=0)
    error = failure_of(site, job)
    assert error.type in {"JobTimeout", "JobTimeoutError"}
    assert "limit of 0.3 s" in error.message
    assert len(site.lines()) == 1, "it ended by itself"
    assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3


@pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])
def test_body_over_its_time_limit_is_tried_again_as_often_as_its_retries_say(site, flags):
    site.start(*flags)
    job = site.queue.submit(bodies.sleep, 60, site.note(), _timeout_s=0.2, _retries=2, _backoff=SOON)
    assert "limit of 0.2 s" in failure_of(site, job).message
    assert [line.split()[1] for line in site.lines()] == ["1", "2", "3"]


def test_body_that_keeps_the_gil_is_ended_at_its_time_limit(site):
    site.start()
    job = site.queue.submit(bodies.hold_the_gil, 60, _timeout_s=0.3, _retries=0)
    assert failure_of(site, job).type == "JobTimeout"


@pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])
def test_body_that_raises_is_tried_again_and_knows_its_attempt(site, flags):
    site.start(*flags)
    job = site.queue.submit(bodies.fail_until_attempt, 3, _retries=2, _backoff=SOON)
    assert site.queue.result(job, timeout=10) == 3


def test_pause_before_another_attempt_is_kept(site):
    """Full jitter draws from 0 up, so only the bound from above is sure for one job; many show the spread."""
    site.start()
    spread = Backoff(base_s=0.8, cap_s=0.8)
    jobs = [
        site.queue.submit(bodies.fail_until_attempt, 2, site.note(str(i)), _retries=1, _backoff=spread)
        for i in range(12)
    ]
    assert {value for _, value in site.queue.results(jobs, timeout=15)} == {2}
    pauses = []
    for i in range(12):
        first, second = (float(line.split()[1]) for line in site.lines(str(i)))
        pauses.append(second - first)
    assert max(pauses) > 0.2, "twelve draws from 0 to 0.8 s that all lie below 0.2 s"
    assert max(pauses) < 2.5


def test_last_failure_is_the_jobs_failure(site):
    site.start()
    error = failure_of(site, site.queue.submit(bodies.fail_until_attempt, 9, _retries=1, _backoff=SOON))
    assert (error.type, error.message) == ("RuntimeError", "not yet: attempt 2")


@pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])
def test_report_33_exceptions_with_odd_constructors_arrive_as_type_text_and_traceback(site, flags):
    worker = site.start(*flags)
    error = failure_of(site, site.queue.submit(bodies.raise_odd, _retries=0))
    assert (error.type, error.message) == ("OddError", "code 7: wrong wheel")
    assert "raise_odd" in error.traceback
    error = failure_of(site, site.queue.submit(bodies.raise_mute, _retries=0))
    assert (error.type, error.message) == ("MuteError", "(its __str__ raised ValueError)")
    error = failure_of(site, site.queue.submit(bodies.raise_system_exit, _retries=0))
    assert (error.type, error.message) == ("SystemExit", "leaving")
    assert worker.process.poll() is None


def test_result_that_the_wire_cannot_carry_fails_with_the_reason(site):
    site.start()
    error = failure_of(site, site.queue.submit(bodies.return_unpackable, _retries=0))
    assert "object" in error.message


def test_function_that_cannot_be_imported_fails_at_once_with_its_name(site):
    site.start()
    thunk = dls.thunk(bodies.add, 1, 2)
    job = site.queue.submit(thunk)
    assert site.queue.result(job, timeout=10) == 3
    site.launch("--queue", "elsewhere", env={"PYTHONPATH": ""})
    elsewhere = dls.SyncQueue("elsewhere", dispatch=site.plane)
    job = elsewhere.submit(bodies.add, 1, 2, _retries=5)
    error = failure_of(site, job)
    assert "worker_bodies" in error.message
    assert site.plane.get(job)["attempt"] == 1
