"""The planes that the conformance suite runs on, each with a clock that the tests move.

Another plane joins by another class like ``SqliteFile`` in ``HARNESSES``.
"""

import random

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.http import submitting
from dreamlake.lakeshore.dispatch.http.plane import HttpDispatch
from dreamlake.lakeshore.dispatch.plane import Submission
from hand_clock import HandClock
from servers.fixtures import document_server, mongo_database, mongo_url  # noqa: F401 - fixtures
from servers.replica_thread import ReplicaThread


class SqliteMemory:
    def __init__(self, tmp_path, request):
        self.clock = HandClock()
        self.plane = Dispatch(":memory:", _clock=self.clock, _rng=random.Random(7))

    def another(self):
        """Give a second way to the same rows, as another process would have it."""
        return self.plane

    def close(self):
        self.plane.close()


class SqliteFile:
    def __init__(self, tmp_path, request):
        self.clock = HandClock()
        self._path = tmp_path / "dispatch.sqlite"
        self._opened = []
        self.plane = self.another()

    def another(self):
        self._opened.append(Dispatch(self._path, _clock=self.clock, _rng=random.Random(7)))
        return self._opened[-1]

    def close(self):
        for plane in self._opened:
            plane.close()


class Http:
    """A control plane of one replica, without Redis, spoken to over HTTP."""

    def __init__(self, tmp_path, request):
        self.clock = HandClock()
        request.getfixturevalue("monkeypatch").setattr(submitting, "wall", self.clock.wall)
        self._replica = ReplicaThread(
            self.clock,
            mongo_url=request.getfixturevalue("mongo_url"),
            mongo_database=request.getfixturevalue("mongo_database"),
            auth="off",
        )
        self._replica.__enter__()
        self._opened = []
        self.plane = self.another()

    def another(self):
        self._opened.append(HttpDispatch(self._replica.url, timeout=5.0))
        return self._opened[-1]

    def close(self):
        for plane in self._opened:
            plane.close()
        self._replica.__exit__()


HARNESSES = {"sqlite-memory": SqliteMemory, "sqlite-file": SqliteFile, "http": Http}


@pytest.fixture(params=HARNESSES)
def harness(request, tmp_path):
    made = HARNESSES[request.param](tmp_path, request)
    yield made
    made.close()


@pytest.fixture
def plane(harness):
    return harness.plane


@pytest.fixture
def other(harness):
    """The same plane as another process sees it."""
    return harness.another()


@pytest.fixture
def advance(harness):
    """Let time pass: ``advance(seconds)``."""
    return harness.clock.advance


@pytest.fixture
def clock(harness):
    return harness.clock


@pytest.fixture
def submit(plane):
    """``submit(*ids, queue="q", **config)``: one small invocation for each id."""
    from dreamlake.lakeshore.dispatch.plane import RunConfig

    def submit(*ids, queue="q", **config):
        items = [Submission(name, f"env-{name}".encode(), RunConfig(**config)) for name in ids]
        return plane.submit_many(queue, items)

    return submit


@pytest.fixture
def run_one(plane):
    """``run_one(result=b"r")``: claim the next of queue q and acknowledge it; its id."""

    def run_one(result=b"r", queue="q"):
        claimed = plane.claim(queue, "w")
        plane.ack(claimed.id, "w", result=result, attempt=claimed.attempt)
        return claimed.id

    return run_one
