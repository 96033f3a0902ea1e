"""The shared cell: what runs is seen from outside; what was taken back is not started."""

import os
import subprocess
import sys

import pytest

from dreamlake.lakeshore.worker.progress import Progress


@pytest.fixture
def pair():
    fd = Progress.create()
    parent, child = Progress(fd), Progress(fd)
    os.close(fd)
    yield parent, child
    parent.close()
    child.close()


def test_at_first_nothing_runs(pair):
    parent, _ = pair
    assert parent.current() == (0, 0.0)


def test_a_start_is_seen_by_the_parent(pair):
    parent, child = pair
    assert child.start(3, 12.5)
    assert parent.current() == (3, 12.5)
    child.rest()
    assert parent.current()[0] == 0


def test_jobs_taken_back_are_not_started_and_later_ones_are(pair):
    parent, child = pair
    parent.take_back(4, 6)
    assert [child.start(n, 0.0) for n in (3, 4, 5, 6)] == [True, False, False, True]


def test_the_cell_survives_the_death_of_the_other_process():
    fd = Progress.create()
    code = (
        "import os, signal, sys\n"
        "from dreamlake.lakeshore.worker.progress import Progress\n"
        f"Progress({fd}).start(9, 1.5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = subprocess.run([sys.executable, "-c", code], pass_fds=(fd,), timeout=30, check=False)
    cell = Progress(fd)
    os.close(fd)
    try:
        assert process.returncode == -9
        assert cell.current() == (9, 1.5)
    finally:
        cell.close()
