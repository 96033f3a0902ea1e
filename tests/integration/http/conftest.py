"""A control plane in this process, what speaks to it, and workers as processes elsewhere."""

import contextlib
import os
import subprocess
import sys
import time

import pytest

from dreamlake.lakeshore import HttpDispatch, SyncQueue
from lakeshore_controlplane.clock import PlaneClock
from servers.replica_thread import ReplicaThread

LIMIT_S = 30


class Served:
    """A replica, planes on it, and processes that are given its URL."""

    def __init__(self, folder, **settings):
        self.folder = folder
        self._stack = contextlib.ExitStack()
        self.replica = self._stack.enter_context(ReplicaThread(PlaneClock(), auth="off", **settings))
        self.url = self.replica.url
        self.plane = self.connect()
        self.queue = SyncQueue("default", dispatch=self.plane)
        self.processes = []

    def connect(self, url=None, **options):
        plane = HttpDispatch(url or self.url, **{"timeout": 10.0, **options})
        self._stack.callback(plane.close)
        return plane

    def environment(self, **more):
        outer = {name: value for name, value in os.environ.items() if not name.startswith("LAKESHORE_")}
        home = self.folder / "home"
        return {**outer, "LAKESHORE_HOME": str(home), "LAKESHORE_URL": self.url, "PYTHONPATH": "", **more}

    def worker(self, *flags, cwd=None, **env):
        """Start a worker in a folder of its own, with nothing on its path."""
        place = cwd or self.folder / "elsewhere"
        place.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "dreamlake.lakeshore.daemon", "--queue", "default", *map(str, flags)]
        with (self.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=self.environment(**env), cwd=place, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def log(self):
        path = self.folder / "worker.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def until(self, condition, what, limit=LIMIT_S):
        """Wait for a condition and give its value."""
        ends = time.monotonic() + limit
        while not (value := condition()):
            assert time.monotonic() < ends, f"not within {limit} s: {what}\n{self.log()}"
            time.sleep(0.01)
        return value

    def active(self):
        """Wait until a worker has registered as active, and give its record."""

        def found():
            return next((known for known in self.plane.workers() if known.state == "active"), None)

        return self.until(found, "a worker is active")

    def result(self, inv_id, limit=LIMIT_S):
        try:
            return self.queue.result(inv_id, limit)
        except TimeoutError as late:
            late.add_note(self.log())
            raise

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(10)
        self._stack.close()


@pytest.fixture
def serve(mongo_url, mongo_database, tmp_path):
    """``serve(**settings)``: a ``Served`` with a folder for its blobs, unless the settings say otherwise."""
    with contextlib.ExitStack() as stack:

        def serve(**settings):
            blobs = {"blobs": "folder", "blob_folder": str(tmp_path / "blobs")}
            made = Served(tmp_path, mongo_url=mongo_url, mongo_database=mongo_database, **(settings or blobs))
            stack.callback(made.close)
            return made

        yield serve


@pytest.fixture
def served(serve):
    """A ``Served`` with a folder for its blobs."""
    return serve()


@pytest.fixture
def on_s3(s3_bucket):
    """The settings of a replica that keeps its blobs in a bucket."""
    return {
        "blobs": "s3",
        "s3_endpoint": s3_bucket.url,
        "s3_bucket": s3_bucket.name,
        "s3_region": s3_bucket.region,
        "s3_access_key": s3_bucket.access_key,
        "s3_secret_key": s3_bucket.secret_key,
    }
