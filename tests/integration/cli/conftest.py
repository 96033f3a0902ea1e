"""The real console script, in processes of its own, with a home of its own for each test."""

import os
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest

from dreamlake.lakeshore.dispatch import Dispatch

SCRIPT = Path(sysconfig.get_path("scripts")) / "lakeshore"
SHELL = {"COLUMNS": "100", "TERM": "xterm", "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}
BODIES = """\
import sys, time
def add(a, b=0): return a + b
def boom(): raise ValueError("no good")
def say(n):
    for i in range(n):
        print("line", i)
        sys.stdout.flush()
        time.sleep(0.05)
    print("to stderr", file=sys.stderr)
    return n
def nap(seconds): time.sleep(seconds)
"""


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "cli_jobs.py").write_text(BODIES)
    return folder


@pytest.fixture
def env(home, tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAKESHORE_", "_"))}
    return {**kept, "LAKESHORE_HOME": str(home), "HOME": str(tmp_path), **SHELL}


@pytest.fixture
def plane(home):
    home.mkdir(exist_ok=True)
    opened = Dispatch(home / "dispatch.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def lakeshore(env, project):
    """``lakeshore("jobs", "list")``: run to the end."""
    assert SCRIPT.exists(), f"{SCRIPT} is missing: install the project (scripts/setup)"

    def call(*words, timeout=60, **more):
        return subprocess.run(
            [SCRIPT, *map(str, words)],
            **{"env": env, "cwd": project, "capture_output": True, "text": True, "timeout": timeout, **more},
            check=False,
        )

    return call


@pytest.fixture
def start(env, project):
    """``start("worker", "start", ...)``: a process that is stopped at the test's end."""
    running = []

    def begin(*words, **more):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running.append(
            subprocess.Popen([SCRIPT, *map(str, words)], **{"env": env, "cwd": project, **pipes, **more})
        )
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        process.communicate()


def wait_for(condition, what, limit_s=30.0):
    """Wait for something to become true and give it."""
    until = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < until, f"waited {limit_s} s for {what}"
        time.sleep(0.02)
    return found


@pytest.fixture(name="wait_for")
def _wait_for():
    return wait_for
