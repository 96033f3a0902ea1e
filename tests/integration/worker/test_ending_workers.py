"""How a worker ends: drained, stopped, or because what it was asked to do is done."""

import signal
import time

import pytest
import worker_bodies as bodies

EACH_WAY = pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])


def hold(site, name="notes"):
    """Submit a body that runs until the gate opens, and wait until it runs."""
    job = site.queue.submit(bodies.until_released, site.note(name), site.note("gate"))
    site.until_lines(1, name)
    return job


def open_gate(site):
    site.path.joinpath("gate").touch()


@EACH_WAY
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_first_signal_lets_the_running_job_end_and_starts_none(site, flags, number):
    worker = site.start(*flags)
    job = hold(site)
    worker.send(number)
    site.until(lambda: site.plane.workers()[0].state == "draining", "it says that it drains")
    later = site.queue.submit(bodies.add, 1, 2)
    open_gate(site)
    assert worker.wait() == 0
    assert site.plane.get(job)["state"] == "succeeded"
    assert site.plane.get(later)["state"] == "queued"
    assert site.plane.workers() == []


@EACH_WAY
def test_idle_worker_ends_at_the_first_signal(site, flags):
    worker = site.start(*flags)
    began = time.monotonic()
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert time.monotonic() - began < 2
    assert site.plane.workers() == []


@EACH_WAY
def test_drain_hands_back_prefetched_jobs_with_no_attempt_used(site, flags):
    """Short bodies first, so that several claims are held at once when the long one starts."""
    worker = site.start(*flags)
    list(site.queue.results(site.queue.submit_many(bodies.attempt_of, range(300)), timeout=15))
    job = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    behind = site.queue.submit_many(bodies.attempt_of, range(5))
    site.until_lines(1)
    worker.send(signal.SIGTERM)
    site.until(
        lambda: all(site.plane.get(each)["state"] == "queued" for each in behind),
        "what is behind the running body is handed back",
        2,
    )
    assert {site.plane.get(each)["attempt"] for each in behind} == {0}
    open_gate(site)
    assert worker.wait() == 0
    assert site.plane.get(job)["state"] == "succeeded"
    site.launch("--idle-exit", 0)
    assert {value for _, value in site.queue.results(behind, timeout=15)} == {1}


@EACH_WAY
def test_second_signal_stops_the_body_and_hands_the_job_back(site, flags, gone):
    worker = site.start(*flags)
    job = hold(site)
    body = int(site.lines()[0].split()[2])
    worker.send(signal.SIGTERM)
    site.until(lambda: site.plane.workers()[0].state == "draining", "it drains")
    worker.send(signal.SIGTERM)
    assert worker.wait(5) == 0, worker.output()
    gone(body)
    row = site.plane.get(job)
    assert (row["state"], row["error"]["type"]) == ("queued", "WorkerStopped")
    assert "Traceback" not in worker.output()
    site.launch("--idle-exit", 0)
    open_gate(site)
    assert site.queue.result(job, timeout=15) == 2


@EACH_WAY
def test_drain_timeout_stops_what_is_left_and_hands_it_back(site, flags):
    worker = site.start("--drain-timeout", 0.3, *flags)
    job = hold(site)
    began = time.monotonic()
    worker.send(signal.SIGTERM)
    assert worker.wait(5) == 0
    assert 0.3 <= time.monotonic() - began < 3
    assert site.plane.get(job)["state"] == "queued"
    assert site.plane.workers() == []


@EACH_WAY
def test_shutdown_hooks_run_when_a_worker_ends_in_good_order(site, flags):
    worker = site.start(*flags)
    assert site.queue.result(site.queue.submit(bodies.note_shutdown, site.note()), timeout=10) is None
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert site.lines() == ["shut down"]


@EACH_WAY
def test_once_runs_one_job_and_leaves_the_others(site, flags):
    jobs = [site.queue.submit(bodies.add, n, n) for n in range(3)]
    worker = site.launch("--once", *flags)
    assert worker.wait() == 0
    assert [site.plane.get(job)["state"] for job in jobs] == ["succeeded", "queued", "queued"]


@EACH_WAY
def test_once_on_an_empty_queue_ends_at_once(site, flags):
    assert site.launch("--once", *flags).wait() == 0


@EACH_WAY
def test_max_jobs_ends_the_worker_after_so_many(site, flags):
    site.queue.submit_many(bodies.attempt_of, range(10))
    assert site.launch("--max-jobs", 4, *flags).wait() == 0
    assert (site.queue.count("succeeded"), site.queue.count("queued"), site.queue.count("running")) == (
        4,
        6,
        0,
    )


@EACH_WAY
def test_idle_exit_counts_from_the_last_work(site, flags):
    worker = site.launch("--idle-exit", 0.5, *flags)
    job = site.queue.submit(bodies.sleep, 0.8)
    assert site.queue.result(job, timeout=10) == 1
    ended = time.monotonic()
    assert worker.wait() == 0
    assert time.monotonic() - ended > 0.3


def test_concurrency_runs_that_many_at_once_and_no_more(site):
    site.start("--concurrency", 4)
    jobs = [site.queue.submit(bodies.until_released, site.note(), site.note("gate")) for _ in range(6)]
    lines = site.until_lines(4)
    assert len({line.split()[2] for line in lines}) == 4, "each in a process of its own"
    assert site.queue.count("running") == 4
    open_gate(site)
    assert [value for _, value in site.queue.results(jobs, timeout=15)] == [1] * 6


def test_job_behind_a_long_one_is_handed_back_for_another_worker(site):
    site.start()
    list(site.queue.results(site.queue.submit_many(bodies.attempt_of, range(300)), timeout=15))
    long = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    behind = site.queue.submit_many(bodies.attempt_of, range(50))
    site.until_lines(1)
    site.start()
    assert {value for _, value in site.queue.results(behind, timeout=10)} == {1}
    assert site.plane.get(long)["state"] == "running"
    open_gate(site)
    assert site.queue.result(long, timeout=10) == 1


def test_cancelled_running_job_has_its_process_ended_soon(site, gone):
    site.start()
    job = hold(site)
    body = int(site.lines()[0].split()[2])
    assert site.queue.cancel(job)
    gone(body, 3)
    open_gate(site)
    assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3
    assert site.plane.get(job)["state"] == "cancelled"


@EACH_WAY
def test_cancelled_queued_job_never_runs(site, flags):
    doomed = site.queue.submit(bodies.note_and_add, site.note(), 1)
    kept = site.queue.submit(bodies.note_and_add, site.note(), 2)
    assert site.queue.cancel(doomed)
    site.start(*flags)
    assert site.queue.result(kept, timeout=10) == 2
    assert site.lines() == ["2"]


def test_cancelled_job_that_a_worker_has_prefetched_never_runs(site):
    """The first of each batch takes less than what a claim may wait, so that those behind it stay where they are."""
    site.start()
    for n in range(8):
        list(site.queue.results(site.queue.submit_many(bodies.attempt_of, range(200)), timeout=15))
        name = f"round-{n}"
        first, *doomed = site.queue.submit_many(
            bodies.sleep_if_first, [(i, site.note(name)) for i in range(6)]
        )
        site.until_lines(1, name)
        cancelled = sum(site.queue.cancel(job) for job in doomed)
        assert site.queue.result(first, timeout=10) == 0
        assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3
        assert len(site.lines(name)) <= 1 + len(doomed) - cancelled, (
            "a job ran that was cancelled before it began"
        )


def test_failing_setup_hook_of_the_site_ends_the_worker_with_its_name(site):
    """A module that registers hooks is imported with the first body, so its failure is that job's."""
    site.start()
    job = site.queue.submit(bodies.register_failing_setup)
    assert site.queue.result(job, timeout=10) is None
    later = site.queue.submit(bodies.add, 1, 2)
    row = site.until_state(later, "failed")
    assert row["error"]["type"] == "WorkerError"
    assert "no model here" in row["error"]["message"]
