"""How a pool ends: drained, stopped, killed, refused; and what is left then."""

import contextlib
import os
import pty
import re
import subprocess
import threading
from pathlib import Path

import pytest


def test_ctrl_c_drains_running_jobs_end_and_waiting_ones_stay(lake, wait_for, tmp_path):
    flag = tmp_path / "flag"
    up = lake.up("{kind: max_count, max: 1}")
    running = lake.submit("until", str(flag))
    lake.running(flag)
    waiting = lake.submit("quick", 1)
    up.interrupt()
    wait_for(lambda: up.said("the pool is closing"), "the pool to say so")
    wait_for(lambda: lake.workers("draining"), "the worker to drain")
    assert up.process.poll() is None
    flag.write_text("")
    assert up.end() == ""
    assert up.process.returncode == 0
    assert lake.result(running) == "done"
    assert lake.plane.get(waiting)["state"] == "queued"
    assert lake.workers() == []


def test_ctrl_c_twice_hands_the_running_job_back(lake, wait_for, runs, tmp_path):
    flag = tmp_path / "flag"
    up = lake.up("{kind: max_count, max: 1}")
    job = lake.submit("until", str(flag))
    pid = lake.running(flag)
    up.interrupt()
    wait_for(lambda: lake.workers("draining"), "the worker to drain")
    up.interrupt()
    up.end()
    assert up.process.returncode == 0
    assert not runs(pid)
    assert lake.plane.get(job)["state"] == "queued"
    assert lake.workers() == []
    flag.write_text("")
    lake.up("{kind: max_count, max: 1}")
    assert lake.result(job) == "done"


def test_a_pool_that_is_killed_leaves_no_idle_worker_behind(lake, wait_for, runs):
    up = lake.up("{kind: fixed, replicas: 2}")
    wait_for(lambda: len(lake.workers("active")) == 2, "the workers")
    pids = [worker.pid for worker in lake.workers()]
    up.process.kill()
    wait_for(lambda: not any(runs(pid) for pid in pids), "the workers to end", 10)
    assert lake.workers() == []


def test_a_pool_that_is_killed_while_its_workers_start_leaves_none_behind(lake, wait_for):
    up = lake.up("{kind: fixed, replicas: 3}")
    up.process.kill()  # they were ordered a moment ago

    def left():
        return [line for line in _command_lines() if str(lake.project) in line]

    wait_for(lambda: not left(), "the workers to end", 10)
    assert lake.workers() == []


def _command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_text(errors="replace").split("\0")


def test_a_busy_worker_of_a_pool_that_is_killed_ends_its_job_and_goes(lake, wait_for, runs, tmp_path):
    flag = tmp_path / "flag"
    up = lake.up("{kind: fixed, replicas: 1}")
    job = lake.submit("until", str(flag))
    lake.running(flag)
    (worker,) = lake.workers()
    up.process.kill()
    wait_for(lambda: lake.workers("draining"), "the worker to drain")
    flag.write_text("")
    assert lake.result(job) == "done"
    assert lake.plane.get(job)["attempt"] == 1
    wait_for(lambda: not runs(worker.pid), "the worker to end", 10)


def test_after_a_pool_was_killed_another_may_have_its_queue(lake, wait_for):
    lake.up("{kind: fixed, replicas: 0}").process.kill()
    wait_for(lambda: lake.ups[0].process.poll() is not None, "the pool to end")
    lake.up("{kind: fixed, replicas: 0}")


def test_a_second_pool_on_a_queue_is_refused_in_one_line(lake):
    first = lake.up("{kind: fixed, replicas: 0}")
    second = subprocess.run(
        lake.command("{kind: fixed, replicas: 0}"),
        env=lake.env,
        cwd=lake.project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (second.returncode, second.stdout) == (2, "")
    (line,) = second.stderr.splitlines()
    pid = first.process.pid
    assert line == (
        f"lakeshore: queue 'q' has a pool on this machine already (process {pid}): stop that one first"
    )
    lake.up("{kind: fixed, replicas: 0}", name="other")
    lake.up("{kind: fixed, replicas: 0}", "--namespace", "elsewhere")


def test_fields_that_only_a_cluster_uses_are_said_on_stderr(lake):
    up = lake.up("{kind: fixed, replicas: 0}", worker="{image: ghcr.io/example/w:1, storage: {}}")
    up.interrupt()
    assert up.end() == "queue q: unused on one machine: spec.worker.image, spec.worker.storage\n"


def test_a_reader_of_the_events_that_goes_away_ends_the_pool_and_its_workers(lake, wait_for, runs):
    command = [*lake.command("{kind: fixed, replicas: 1}"), "--json"]
    reader, writer = os.pipe()
    with subprocess.Popen(
        command, env=lake.env, cwd=lake.project, stdout=writer, stderr=subprocess.PIPE
    ) as up:
        os.close(writer)
        with os.fdopen(reader) as events:
            assert events.readline()
        (worker,) = wait_for(lambda: lake.workers("active"), "the worker")
        lake.plane.set_queue_state("q", "paused")
        assert up.wait(40) == 0
        assert up.stderr.read() == b""
    wait_for(lambda: not runs(worker.pid), "the worker to end")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_events_are_one_line_each(lake, wait_for, flags):
    command = [*lake.command("{kind: fixed, replicas: 1}"), *flags]
    with subprocess.Popen(command, env=lake.env, cwd=lake.project, stdout=subprocess.PIPE, text=True) as up:
        line = up.stdout.readline()
        up.terminate()
        up.communicate(timeout=40)
    assert up.returncode == 0
    if flags:
        assert '"reason": "fixed at 1"' in line
    else:
        assert line == "q: scale_up to 1: fixed at 1\n"


def test_a_terminal_shows_a_live_table(lake, wait_for):
    main, side = pty.openpty()
    env = {**lake.env, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    # setsid makes the terminal that of the process, so that Ctrl-C typed there is a signal.
    command = ["setsid", "--ctty", *lake.command("{kind: fixed, replicas: 1}")]
    up = subprocess.Popen(command, env=env, cwd=lake.project, stdin=side, stdout=side, stderr=side)
    os.close(side)
    seen = bytearray()

    def read():
        try:
            while data := os.read(main, 4096):
                seen.extend(data)
        except OSError:
            return  # the terminal is gone with the process

    reader = threading.Thread(target=read)
    reader.start()

    def screen():
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode("utf-8", "replace"))

    try:
        wait_for(lambda: "1 of 1 (1 idle)" in screen(), "the worker in the table")
        for word in (
            "queue",
            "queued",
            "running",
            "workers",
            "why",
            "fixed at 1",
            "Ctrl-C drains, twice stops",
        ):
            assert word in screen()
        os.write(main, b"\x03")
        assert up.wait(40) == 0
        assert "draining: running jobs end; Ctrl-C again stops" in screen()
    finally:
        up.kill()
        up.wait(10)
        reader.join(10)
        os.close(main)


def test_a_plane_whose_file_is_deleted_ends_the_pool_with_one_line(lake, wait_for, runs):
    up = lake.up("{kind: fixed, replicas: 1}")
    (worker,) = wait_for(lambda: lake.workers("active"), "the worker")
    for path in lake.home.glob("dispatch.sqlite*"):
        if path.is_file():
            path.unlink()
    said = up.end().splitlines()
    assert up.process.returncode == 2
    assert said[-1].startswith("lakeshore: ")
    assert "dispatch.sqlite" in said[-1]
    assert not runs(worker.pid)
