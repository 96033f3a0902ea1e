"""A worker that dies or freezes costs time, nothing else: another finishes its job, and its late words are refused."""

import os
import signal
import time

import worker_bodies as bodies


def test_report_1_job_of_a_worker_killed_midway_finishes_as_attempt_2(site):
    first = site.start("--lease", 1)
    job = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    site.until_lines(1)
    first.send(signal.SIGKILL)
    killed_at = time.monotonic()
    site.start("--lease", 1)
    site.until_lines(2)
    assert time.monotonic() - killed_at < 3, "taken over later than lease + 2 s"
    site.path.joinpath("gate").touch()
    assert site.queue.result(job, timeout=10) == 2
    assert [line.split()[:2] for line in site.lines()] == [["began", "1"], ["began", "2"]]


def test_report_7_row_of_a_job_whose_worker_vanished_says_so(site):
    first = site.start("--lease", 1)
    job = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    site.until_lines(1)
    first.send(signal.SIGKILL)
    site.start("--lease", 1)
    site.until_lines(2)
    error = site.plane.get(job)["error"]
    assert error["type"] == "WorkerLost"
    assert "ran out of memory" in error["message"]
    site.path.joinpath("gate").touch()
    site.until_state(job, "succeeded")


def test_report_2_job_five_times_its_lease_is_one_attempt(site):
    site.start("--lease", 0.5)
    site.start("--lease", 0.5)
    job = site.queue.submit(bodies.sleep, 2.5, site.note())
    assert site.queue.result(job, timeout=10) == 1
    assert [line.split()[0] for line in site.lines()] == ["began", "ended"]


def test_report_2_body_that_keeps_the_gil_past_its_lease_is_one_attempt(site):
    site.start("--lease", 0.5)
    site.start("--lease", 0.5)
    job = site.queue.submit(bodies.hold_the_gil, 2.0)
    assert site.queue.result(job, timeout=10) == 1


def test_late_words_of_a_frozen_worker_change_nothing(site, children_of):
    frozen = site.start("--lease", 1)
    job = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    site.until_lines(1)
    pids = [frozen.pid, *children_of(frozen.pid)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    site.start("--lease", 1)
    site.until_lines(2)
    site.path.joinpath("gate").touch()
    assert site.queue.result(job, timeout=10) == 2
    before = site.plane.get(job)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    other = site.queue.submit(bodies.add, 1, 2)
    assert site.queue.result(other, timeout=10) == 3
    frozen.send(signal.SIGTERM)
    assert frozen.wait() == 0, "a worker that was frozen works on"
    assert site.plane.get(job) == before


def test_worker_frozen_alone_has_its_late_success_refused(site):
    """The body ends while only the parent is stopped, so a success waits for it, two attempts late."""
    frozen = site.start("--lease", 1, "--json")
    job = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    site.until_lines(1)
    frozen.send(signal.SIGSTOP)
    site.start("--lease", 1)
    site.until_lines(2)
    site.path.joinpath("gate").touch()
    site.until_state(job, "succeeded")
    before = site.plane.get(job)
    frozen.send(signal.SIGCONT)
    frozen.send(signal.SIGTERM)
    assert frozen.wait() == 0
    assert '"fenced": 1' in frozen.output() and '"succeeded": 0' in frozen.output()
    assert site.plane.get(job) == before
    assert before["attempt"] == 2


def test_killing_the_parent_ends_the_body(site, gone):
    worker = site.start()
    site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    body = int(site.until_lines(1)[0].split()[2])
    worker.send(signal.SIGKILL)
    worker.wait()
    gone(body)


def test_killing_the_parent_ends_a_body_that_keeps_the_gil(site, gone, children_of):
    worker = site.start()
    job = site.queue.submit(bodies.hold_the_gil, 60)
    site.until_state(job, "running")
    (child,) = children_of(worker.pid)
    worker.send(signal.SIGKILL)
    worker.wait()
    gone(child)
