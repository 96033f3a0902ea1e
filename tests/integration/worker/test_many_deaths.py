"""Whatever dies, and however often: every job ends once, as a success, and streams are whole."""

import contextlib
import os
import random
import signal

import pytest
import worker_bodies as bodies

from dreamlake.lakeshore.dispatch.plane import Backoff
from dreamlake.lakeshore.errors import InvocationFailedError

SOON = Backoff(base_s=0.0, cap_s=0.0)


def kill_something(site, workers, children_of, rng):
    """Kill a worker and start another in its place, or kill one of its slots."""
    number = rng.randrange(len(workers))
    worker = workers[number]
    slots = children_of(worker.pid)
    if slots and rng.random() < 0.5:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(slots), signal.SIGKILL)
    else:
        worker.send(signal.SIGKILL)
        worker.wait()
        workers[number] = site.launch("--lease", 0.5, "--concurrency", 2)


def test_every_job_ends_well_while_workers_and_slots_are_killed(site, children_of):
    rng = random.Random(5)
    jobs = site.queue.submit_many(bodies.sleep_a_little, range(400))
    streams = [site.queue.submit(bodies.stream, 40, 0.01, _backoff=SOON) for _ in range(4)]
    workers = [site.start("--lease", 0.5, "--concurrency", 2) for _ in range(2)]
    for _ in range(6):
        done = site.queue.count("succeeded")
        site.until(lambda done=done: site.queue.count("succeeded") >= min(done + 30, 400), "work goes on", 20)
        kill_something(site, workers, children_of, rng)
    assert dict(site.queue.results(jobs, timeout=30)) == {job: n for n, job in enumerate(jobs)}
    for stream in streams:
        assert list(site.queue.stream_frames(stream, timeout=20)) == [(n, n) for n in range(40)]
        assert site.queue.result(stream, timeout=20) is None  # the stream's end comes before the attempt's
    assert site.queue.count("running") == site.queue.count("queued") == site.queue.count("failed") == 0


@pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])
def test_bodies_that_end_right_at_their_time_limit_succeed_or_time_out_and_nothing_else(site, flags):
    worker = site.start(*flags)
    list(site.queue.results([site.queue.submit(bodies.add, 1, 2)], timeout=10))
    jobs = [
        site.queue.submit(bodies.sleep, 0.02, _timeout_s=0.02 + n % 5 / 1000, _retries=0) for n in range(15)
    ]
    ends = [value for _, value in site.queue.results(jobs, timeout=40, on_error="return")]
    assert len(ends) == 15
    for end in ends:
        if isinstance(end, InvocationFailedError):
            assert end.error.type in {"JobTimeout", "JobTimeoutError"}
        else:
            assert end == 1
    assert worker.process.poll() is None
