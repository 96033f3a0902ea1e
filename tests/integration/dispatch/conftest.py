"""Real processes on one file."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from dreamlake.lakeshore.dispatch import Dispatch

PROGRAM = Path(__file__).with_name("program.py")


class Started:
    """A process of ``program.py`` with its standard output in a file."""

    def __init__(self, log, *args):
        self.log = log
        self._out = log.open("w")
        self._errors = ""
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=self._out,
            stderr=subprocess.PIPE,
            text=True,
        )

    def lines(self, kind):
        """The words of all whole lines of one kind."""
        text = self.log.read_text()
        whole = text[: text.rfind("\n") + 1].splitlines()
        return [word for line in whole for word in line.split()[1:] if line.split()[0] == kind]

    def said(self, kind):
        return any(line.startswith(kind) for line in self.log.read_text().splitlines())

    def finish(self, limit_s=60):
        """Wait for the end; what it wrote to standard error."""
        if not self._out.closed:
            _, self._errors = self.process.communicate(timeout=limit_s)
            self._out.close()
        return self._errors

    def kill(self):
        self.process.kill()
        self.finish()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dispatch.sqlite"


@pytest.fixture
def plane(path):
    opened = Dispatch(path)
    yield opened
    opened.close()


@pytest.fixture
def start(tmp_path, path):
    """``start(role, name, ...)``: a process that is gone at the test's end."""
    running = []

    def start(role, name, *args):
        running.append(Started(tmp_path / f"{len(running)}-{name}.log", role, path, name, *args))
        return running[-1]

    yield start
    for started in running:
        started.process.kill()
        started.finish()


@pytest.fixture
def until():
    """``until(condition, what)``: wait for a condition, at most a minute, and say what did not come."""

    def until(condition, what, limit_s=60):
        ends = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < ends, f"waited {limit_s} s for {what}"
            time.sleep(0.01)

    return until
