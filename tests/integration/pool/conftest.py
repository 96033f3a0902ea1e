"""``lakeshore up`` as a process, its events, and a producer beside it."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest

import dreamlake.lakeshore as dls
from dreamlake.lakeshore.dispatch import Dispatch, HttpDispatch
from dreamlake.lakeshore.dispatch.http.administration import administration
from servers.replica_process import ReplicaProcess

SCRIPT = Path(sysconfig.get_path("scripts")) / "lakeshore"
BODIES = """\
import os, time
from pathlib import Path

def quick(n): return n

def nap(seconds): time.sleep(seconds)

def until(path):
    "Run until a file is there; leave one that says so."
    Path(path + ".running").write_text(str(os.getpid()))
    limit = time.monotonic() + 60
    while not Path(path).exists():
        if time.monotonic() > limit: raise TimeoutError(path)
        time.sleep(0.02)
    return "done"
"""


def wait_for(condition, what, limit_s=40.0):
    """Wait for something to become true and give it."""
    until = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < until, f"waited {limit_s} s for {what}"
        time.sleep(0.02)
    return found


def runs(pid):
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Up:
    """A running ``lakeshore up --json``."""

    def __init__(self, command, env, folder):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=env, cwd=folder, stdout=pipe, stderr=pipe, text=True)
        self.events = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.events.append(json.loads(line))  # every line is JSON

    def said(self, text, kind=None, since=0):
        """The events with ``text`` in their reason."""
        found = [event for event in list(self.events)[since:] if text in event["reason"]]
        return [event for event in found if kind is None or event["kind"] == kind]

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self, timeout=40):
        """Wait for its end; what it wrote to stderr."""
        self.process.wait(timeout)
        self._reader.join(timeout)
        return self.process.stderr.read()

    def close(self):
        for _ in range(2):
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        finally:
            self.process.kill()
            self._reader.join(5)
            self.process.stdout.close()
            self.process.stderr.close()


class Lake:
    """A home, a project folder, a plane (on that home, unless ``open_plane`` makes one), and pools on its queues.

    ``env``: what the pools are given beside, for example the URL of a control plane.
    """

    def __init__(self, folder, open_plane=None, **env):
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        for path in (self.home, self.project):
            path.mkdir()
        (self.project / "pool_jobs.py").write_text(BODIES)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKESHORE_")}
        self.env = {**kept, "LAKESHORE_HOME": str(self.home), **env}
        self.plane = open_plane() if open_plane else Dispatch(self.home / "dispatch.sqlite")
        self.ups = []

    def queue_file(self, elasticity, *, name="q", worker="{}"):
        path = self.folder / f"{name}.yaml"
        path.write_text(
            "apiVersion: lakeshore.dreamlake.ai/v1alpha1\nkind: Queue\n"
            f"metadata: {{name: {name}}}\nspec: {{elasticity: {elasticity}, worker: {worker}}}\n"
        )
        return path

    def command(self, elasticity, *flags, **more):
        return [SCRIPT, "up", "-f", self.queue_file(elasticity, **more), *flags]

    def up(self, elasticity, *flags, **more):
        started = Up(self.command(elasticity, "--json", *flags, **more), self.env, self.project)
        self.ups.append(started)
        wait_for(lambda: started.events or started.process.poll() is not None, "the first event")
        assert started.process.poll() is None, started.process.stderr.read()
        return started

    def submit(self, body, *args, name="q", **options):
        import pool_jobs

        return dls.SyncQueue(name, dispatch=self.plane).submit(getattr(pool_jobs, body), *args, **options)

    def result(self, inv_id, name="q"):
        return dls.SyncQueue(name, dispatch=self.plane).result(inv_id, timeout=60)

    def workers(self, state=None, name="q"):
        found = self.plane.workers(name)
        return [worker for worker in found if state is None or worker.state == state]

    def running(self, flag):
        """Wait until ``until(flag)`` runs; the pid of its process."""
        mark = Path(f"{flag}.running")
        return int(wait_for(lambda: mark.exists() and mark.read_text(), "the job to run"))

    def close(self):
        for each in self.ups:
            each.close()
        self.plane.close()


@pytest.fixture
def lake(tmp_path, monkeypatch):
    made = Lake(tmp_path)
    monkeypatch.syspath_prepend(str(made.project))
    yield made
    made.close()
    sys.modules.pop("pool_jobs", None)


ROOT_TOKEN = "dlk_root-of-the-pools-" + "r" * 24


@pytest.fixture
def replica(mongo_url, mongo_database):
    """A control plane in a process of its own, that asks for tokens."""
    with ReplicaProcess(
        mongo_url=mongo_url, mongo_database=mongo_database, auth="tokens", bootstrap_token=ROOT_TOKEN
    ) as process:
        yield process


@pytest.fixture
def far_lake(tmp_path, monkeypatch, replica):
    """The same on a control plane, spoken to by a token that may do everything; ``far_lake.rest`` is its rest."""
    env = {"LAKESHORE_URL": replica.url, "LAKESHORE_CLIENT_TOKEN": ROOT_TOKEN, "LAKESHORE_PUSH_CODE": "off"}
    made = Lake(tmp_path, lambda: HttpDispatch(replica.url, token=ROOT_TOKEN), **env)
    made.rest = administration(made.plane)
    monkeypatch.setenv("LAKESHORE_PUSH_CODE", "off")
    monkeypatch.syspath_prepend(str(made.project))
    yield made
    made.rest.close()
    made.close()
    sys.modules.pop("pool_jobs", None)


@pytest.fixture(name="wait_for")
def _wait_for():
    return wait_for


@pytest.fixture(name="runs")
def _runs():
    return runs
