"""A plane that refuses for a while costs nothing; one that is gone ends the worker with one clear line."""

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
import worker_bodies as bodies


class FullDisk:
    """While open, no file of one process can grow beyond a few bytes: its database takes no write."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        _, self.most = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (3000, self.most))

    def __exit__(self, *_):
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (self.most, self.most))


def test_reports_that_a_full_disk_refuses_are_kept_and_delivered_later(site):
    worker = site.start()
    job = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    site.until_lines(1)
    with FullDisk(worker.pid):
        site.path.joinpath("gate").touch()
        site.until(lambda: "could not report" in worker.output(), "the plane refuses the report")
        assert "no space left" in worker.output()
        assert site.plane.get(job)["state"] == "running"
    assert site.queue.result(job, timeout=10) == 1
    assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3
    assert worker.process.poll() is None


@pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])
def test_worker_that_gets_no_answer_is_not_idle_and_goes_on_when_it_does(site, flags):
    worker = site.start("--idle-exit", 1.2, *flags)
    with FullDisk(worker.pid):
        job = site.queue.submit(bodies.add, 1, 2)
        site.until(lambda: worker.output().count("could not claim") >= 3, "three claims were refused")
    assert site.queue.result(job, timeout=10) == 3
    assert worker.wait() == 0


def test_stream_waits_for_a_full_disk_in_bounded_memory_and_loses_nothing(site):
    worker = site.start()
    job = site.queue.submit(bodies.stream_blocks, 1200, 65_536, site.note())
    frames = site.queue.stream(job, timeout=20)
    next(frames)
    with FullDisk(worker.pid):
        site.until(lambda: "could not report" in worker.output(), "the plane refuses frames")
        quiet = [len(site.lines()), time.monotonic()]

        def stands_still():
            if (now := len(site.lines())) != quiet[0]:
                quiet[:] = [now, time.monotonic()]
            return time.monotonic() - quiet[1] > 0.7

        site.until(stands_still, "the body waits for the plane")
        assert quiet[0] < 1200, "all of it was taken into memory"
        status = Path(f"/proc/{worker.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
        assert peak < 140_000, f"the parent took {peak} KiB"
    assert sum(1 for _ in frames) == 1199


def test_plane_whose_file_is_deleted_ends_its_workers_with_one_clear_line(site):
    workers = [site.start(), site.start("--in-process")]
    for path in site.home.glob("dispatch.sqlite*"):
        if path.is_file():
            path.unlink()
    for worker in workers:
        assert worker.wait(15) == 1
        last = worker.output().splitlines()[-1]
        assert last.startswith("lakeshore worker: ")
        assert "was deleted or replaced while it was open" in last
        assert "Traceback" not in worker.output()


def test_plane_deleted_under_a_running_body_ends_both(site, gone):
    worker = site.start("--lease", 0.6)
    site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    body = int(site.until_lines(1)[0].split()[2])
    os.rename(site.home / "dispatch.sqlite", site.home / "moved.sqlite")  # noqa: PTH104
    assert worker.wait(15) == 1
    gone(body)
    assert "Traceback" not in worker.output()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"no database, " * 1000, "is not a Lakeshore database"), (b"", None)],
    ids=["another file", "an empty file"],
)
def test_file_that_is_no_plane_is_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "dispatch.sqlite").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "dreamlake.lakeshore.daemon", "--once"],
        env={**os.environ, "LAKESHORE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if words is None:  # an empty file becomes a plane
        assert done.returncode == 0
        return
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert words in line
