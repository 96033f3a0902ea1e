"""Streams: every value once and in order, through failures, deaths and cancels."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import worker_bodies as bodies

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import Backoff
from dreamlake.lakeshore.errors import InvocationFailedError

SOON = Backoff(base_s=0.0, cap_s=0.0)
EACH_WAY = pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])


def values_until_failure(stream):
    got = []
    try:
        got.extend(stream)
    except InvocationFailedError as exc:
        return got, exc.error
    return got, None


@EACH_WAY
def test_values_arrive_in_order_and_once(site, flags):
    site.start(*flags)
    job = site.queue.submit(bodies.stream, 3000)
    assert list(site.queue.stream(job)) == list(range(3000))
    squares = site.queue.submit(bodies.async_stream, 300)
    assert list(site.queue.stream(squares)) == [n * n for n in range(300)]


@EACH_WAY
def test_report_34_yielded_exception_object_fails_the_job_with_words_or_arrives_as_value(site, flags):
    """The wire carries no exception objects: the job fails and says so, after what came before it."""
    site.start(*flags)
    got, error = values_until_failure(
        site.queue.stream(site.queue.submit(bodies.stream_exception_object, _retries=0))
    )
    assert got == ["before"]
    assert "ValueError" in error.message


@EACH_WAY
def test_report_34_raise_midway_comes_after_the_values(site, flags):
    site.start(*flags)
    got, error = values_until_failure(
        site.queue.stream(site.queue.submit(bodies.stream_and_raise, 5, _retries=0))
    )
    assert got == [0, 1, 2, 3, 4]
    assert (error.type, error.message) == ("KeyError", "'midway'")


@EACH_WAY
def test_raise_midway_that_is_tried_again_doubles_nothing(site, flags):
    site.start(*flags)
    job = site.queue.submit(bodies.stream_and_raise, 5, _retries=2, _backoff=SOON)
    got, error = values_until_failure(site.queue.stream(job))
    assert got == [0, 1, 2, 3, 4]
    assert error.type == "KeyError"
    assert site.plane.get(job)["attempt"] == 3


def test_report_34_stream_through_a_workers_death_loses_and_doubles_no_frame(site):
    first = site.start("--lease", 1)
    job = site.queue.submit(bodies.stream, 60, 0.02, site.note())
    frames = site.queue.stream_frames(job, timeout=15)
    got = [next(frames) for _ in range(10)]
    first.send(signal.SIGKILL)
    site.start("--lease", 1)
    got += list(frames)
    assert got == [(n, n) for n in range(60)]
    assert "yield 2 0" in site.lines()


def test_stream_through_the_death_of_its_process_loses_and_doubles_no_frame(site, children_of):
    worker = site.start()
    job = site.queue.submit(bodies.stream, 60, 0.02, _backoff=SOON)
    frames = site.queue.stream_frames(job, timeout=15)
    got = [next(frames) for _ in range(10)]
    for pid in children_of(worker.pid):
        os.kill(pid, signal.SIGKILL)
    got += list(frames)
    assert got == [(n, n) for n in range(60)]
    assert site.plane.get(job)["attempt"] == 2


@EACH_WAY
@pytest.mark.parametrize("body", [bodies.stream_until_closed, bodies.async_stream_until_closed])
def test_report_34_cancelled_generator_ends(site, flags, body, gone, children_of):
    """In a slot its process is ended; in the worker's own process it is closed, and its ``finally`` runs."""
    worker = site.start("--lease", 1, *flags)
    job = site.queue.submit(body, site.note())
    frames = site.queue.stream(job)
    assert next(frames) == "tick"
    (before,) = children_of(worker.pid) or (None,)
    assert site.queue.cancel(job)
    if flags:
        assert site.until_lines(2, limit=5) == ["began", "closed"]
    else:
        gone(before)
    assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3
    assert site.plane.get(job)["state"] == "cancelled"
    assert site.plane.get(job)["attempt"] == 1


@EACH_WAY
@pytest.mark.parametrize("said_before", [2, 9])
def test_attempt_that_yields_another_number_than_the_one_that_ended_unheard_succeeds(
    site, flags, said_before
):
    """An attempt whose END is stored and whose end is not is repeated; the journal keeps what it has."""
    job = site.queue.submit(bodies.stream, 5)
    for seq in range(said_before):
        site.plane.journal_append(job, seq, wire.WireFrame(wire.FrameKind.VALUE, seq, seq).encode())
    end = wire.WireFrame(wire.FrameKind.END, said_before, None).encode()
    site.plane.journal_append(job, said_before, end, final=True)
    site.start(*flags)
    assert site.until_state(job, "succeeded")["attempt"] == 1
    assert list(site.queue.stream(job)) == list(range(said_before))
    assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3


def printed(site, job):
    chunks = []
    try:
        for _, text in site.plane.journal_read(f"log:{job}", timeout=0.2):
            chunks.append(text)
    except TimeoutError:
        pass
    return b"".join(chunks).decode()


def test_what_a_body_prints_is_kept_and_shown(site):
    worker = site.start()
    job = site.queue.submit(bodies.say, "hello", 3)
    assert site.queue.result(job, timeout=10) == 3
    expected = "hello 0\nhello 1\nhello 2\nand an error\nunfinished"
    assert sorted(printed(site, job)) == sorted(expected)
    assert "hello 0\nhello 1\nhello 2\n" in printed(site, job)
    assert "hello 2" in worker.output()


def test_worker_whose_output_nobody_reads_any_more_works_on(site):
    reader, writer = os.pipe()
    env = {**os.environ, "LAKESHORE_HOME": str(site.home), "PYTHONPATH": str(Path(bodies.__file__).parent)}
    with subprocess.Popen(
        [sys.executable, "-m", "dreamlake.lakeshore.daemon"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
    ) as process:
        try:
            os.close(writer)
            os.close(reader)
            job = site.queue.submit(bodies.say, "x" * 100, 50, _retries=0)
            assert site.queue.result(job, timeout=15) == 50
            assert printed(site, job).count("\n") == 51
        finally:
            process.terminate()
            assert process.wait(10) == 0
