"""Real workers: each a process of its own on a plane in a home of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dreamlake.lakeshore as dls

BODIES = Path(__file__).parent / "bodies"
sys.path.insert(0, str(BODIES))  # the tests submit the bodies by reference


class WorkerProcess:
    """``python -m dreamlake.lakeshore.daemon`` with its output in a file."""

    def __init__(self, home, log, flags, env, program):
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *program, *flags],
                env={**os.environ, "LAKESHORE_HOME": str(home), "PYTHONPATH": str(BODIES), **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=home,
            )
        self.pid = self.process.pid

    def output(self):
        return self.log.read_text(errors="replace")

    def send(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=15):
        """Wait for its end; the exit status."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the worker did not end within {timeout} s:\n{self.output()}")

    def end(self):
        if self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.process.kill()
            self.process.wait(10)


class Site:
    """A Lakeshore home with a plane, and the workers that were started on it."""

    def __init__(self, path):
        self.path = path
        self.home = path / "home"
        self.home.mkdir()
        self.plane = dls.Dispatch(self.home / "dispatch.sqlite")
        self.queue = dls.SyncQueue("default", dispatch=self.plane)
        self.workers = []

    def launch(self, *flags, env=None, program=("dreamlake.lakeshore.daemon",)):
        """Start a worker without waiting for it."""
        log = self.path / f"worker-{len(self.workers)}.log"
        worker = WorkerProcess(self.home, log, [str(flag) for flag in flags], env or {}, program)
        self.workers.append(worker)
        return worker

    def start(self, *flags, **more):
        """Start a worker and wait until it is active."""
        worker = self.launch(*flags, **more)

        def active():
            assert worker.process.poll() is None, f"the worker ended:\n{worker.output()}"
            return any(r.pid == worker.pid and r.state == "active" for r in self.plane.workers())

        self.until(active, "the worker is active", 20)
        return worker

    def until(self, condition, what, limit=10.0):
        """Wait for a condition and give its value."""
        ends = time.monotonic() + limit
        while not (value := condition()):
            if time.monotonic() > ends:
                logs = "\n".join(worker.output() for worker in self.workers)
                pytest.fail(f"not within {limit} s: {what}\n{logs}")
            time.sleep(0.01)
        return value

    def until_state(self, inv_id, *states, limit=15.0):
        def reached():
            row = self.plane.get(inv_id)
            return row if row["state"] in states else None

        return self.until(reached, f"{inv_id} is {' or '.join(states)}", limit)

    def note(self, name="notes"):
        """Give the path of a file for a body's notes."""
        return str(self.path / name)

    def lines(self, name="notes"):
        path = self.path / name
        return path.read_text().splitlines() if path.exists() else []

    def until_lines(self, n, name="notes", limit=15.0):
        return self.until(lambda: (got := self.lines(name))[n - 1 :] and got, f"{n} notes in {name}", limit)

    def close(self):
        for worker in self.workers:
            worker.end()
        self.plane.close()


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.close()


def alive(pid):
    """Say whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def gone(site):
    """``gone(pid)``: wait until a process has ended."""
    return lambda pid, limit=5.0: site.until(lambda: not alive(pid), f"process {pid} has ended", limit)


def children(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


@pytest.fixture
def children_of():
    """``children_of(pid)``: the ids of a process's children."""
    return children
