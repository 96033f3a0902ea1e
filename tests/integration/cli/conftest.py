"""The real console script, in processes of its own, with a home of its own for each test."""

import os
import subprocess
import sys
import sysconfig
import time
import uuid
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pymongo
import pytest

from dreamlake.lakeshore.cli.app import run
from dreamlake.lakeshore.dispatch import Dispatch, HttpDispatch
from dreamlake.lakeshore.dispatch.http.administration import administration
from servers.replica_process import ReplicaProcess

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
def drip(n):
    for i in range(n):
        yield {"at": i}
        time.sleep(0.05)
"""
ROOT_TOKEN = "dlk_root-of-the-command-line-" + "r" * 24


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
def inside(env, project, monkeypatch, capsys):
    """The same in the test's own process, which spares a start: for what is refused before anything is done."""

    def call(*words):
        for name, value in env.items():
            if name.startswith("LAKESHORE_"):
                monkeypatch.setenv(name, value)
        monkeypatch.chdir(project)
        monkeypatch.syspath_prepend(str(project))
        status = run([str(word) for word in words])
        sys.modules.pop("cli_jobs", None)
        captured = capsys.readouterr()
        return subprocess.CompletedProcess(words, status, captured.out, captured.err)

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


@pytest.fixture(scope="module")
def replica(document_server):
    """A control plane in a process of its own, that asks for tokens."""
    document_server.ensure()
    name = f"test_{uuid.uuid4().hex}"
    settings = {"auth": "tokens", "bootstrap_token": ROOT_TOKEN}
    with ReplicaProcess(mongo_url=document_server.url, mongo_database=name, **settings) as process:
        yield process
    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        client.drop_database(name)


@pytest.fixture
def far(env, replica):
    """Have commands work on the control plane: ``far.plane`` speaks to it, ``far.rest`` is the rest of it."""
    env.update(
        LAKESHORE_URL=replica.url, LAKESHORE_CLIENT_TOKEN=ROOT_TOKEN, LAKESHORE_PUSH_CODE="off", TZ="UTC"
    )
    with (
        closing(HttpDispatch(replica.url, token=ROOT_TOKEN)) as plane,
        closing(administration(plane)) as rest,
    ):
        yield SimpleNamespace(url=replica.url, token=ROOT_TOKEN, plane=plane, rest=rest)


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
