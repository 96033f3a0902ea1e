"""Any sequence of verbs, against a model that says in a few lines what the rows must be."""

import json
import random
import tempfile
import time
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path

import pymongo
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.http.plane import HttpDispatch
from dreamlake.lakeshore.dispatch.plane import (
    DEFAULT_MAX_ATTEMPTS,
    STATES,
    TERMINAL_STATES,
    Finished,
    RunConfig,
    Submission,
)
from dreamlake.lakeshore.errors import ErrorInfo
from servers.replica_thread import ReplicaThread

IDS = [f"i{n}" for n in range(8)]
WORKERS = ["w1", "w2", "w3"]
ids = st.sampled_from(IDS)
workers = st.sampled_from(WORKERS)
attempts = st.integers(1, 4)


class Clock:
    def __init__(self):
        self.time = 1000.0

    def steady(self):
        return self.time

    def awake(self):
        return self.time

    def wall(self):
        return 5e8 + self.time

    def boot(self):
        return "boot"


@dataclass
class Row:
    seq: int
    priority: float
    state: str = "queued"
    attempt: int = 0
    worker: str | None = None
    lease_until: float = 0.0
    due: float = 0.0
    crashes: int = 0
    result: bytes | None = None

    def held_by(self, worker, attempt):
        return self.state == "running" and self.worker == worker and self.attempt == attempt

    def crash(self):
        self.crashes += 1
        self.state = "failed" if self.crashes >= DEFAULT_MAX_ATTEMPTS else "queued"
        self.due = 0.0


class PlaneMachine(RuleBasedStateMachine):
    path = ":memory:"

    @initialize()
    def open(self):
        self.clock = Clock()
        self.planes = self.open_planes()
        self.model = {}
        self.ended = {}
        self.stream = self.planes[0].completions()
        self.stream.add(IDS)
        self.reported = {}

    def open_planes(self):
        return [Dispatch(":memory:", _clock=self.clock, _rng=random.Random(1))]

    def teardown(self):
        self.stream.close()
        for plane in self.planes:
            plane.close()

    @property
    def plane(self):
        """Each verb comes from another process than the one before."""
        self.planes.append(self.planes.pop(0))
        return self.planes[0]

    @rule(name=ids, priority=st.sampled_from([0.0, 1.0, -1.0]), delay=st.sampled_from([0.0, 5.0]))
    def submit(self, name, priority, delay):
        self.plane.submit_many("q", [Submission(name, b"e", RunConfig(priority=priority, delay_s=delay))])
        if name not in self.model:
            due = self.clock.time + delay if delay else 0.0
            self.model[name] = Row(len(self.model), priority, due=due)

    @rule(worker=workers, n=st.integers(1, 4), kind=st.sampled_from(["fifo", "filo", "priority"]))
    def claim(self, worker, n, kind):
        now = self.clock.time
        for row in self.model.values():
            if row.state == "running" and row.lease_until <= now:
                row.crash()
        order = -1 if kind == "filo" else 1
        ready = sorted(
            (name for name, row in self.model.items() if row.state == "queued" and row.due <= now),
            key=lambda name: (-self.model[name].priority, order * self.model[name].seq),
        )[:n]
        claimed = self.plane.claim_many("q", worker, n, kind=kind, lease_s=10)
        assert [job.id for job in claimed] == ready
        for job in claimed:
            row = self.model[job.id]
            row.state, row.worker, row.lease_until = "running", worker, now + 10
            row.attempt += 1
            assert job.attempt == row.attempt

    @rule(
        worker=workers, reports=st.lists(st.tuples(ids, attempts), max_size=4, unique_by=lambda pair: pair[0])
    )
    def ack(self, worker, reports):
        items = [Finished(name, attempt, f"{name}-{attempt}".encode()) for name, attempt in reports]
        fenced = self.plane.ack_many(worker, items)
        for item in items:
            row = self.model.get(item.id)
            held = row is not None and row.held_by(worker, item.attempt)
            assert (item.id in fenced) is not held
            if held:
                row.state, row.result = "succeeded", item.result

    @rule(worker=workers, name=ids, attempt=attempts, retry=st.booleans(), pause=st.sampled_from([0.0, 5.0]))
    def fail(self, worker, name, attempt, retry, pause):
        item = Finished(name, attempt, error=ErrorInfo("E", "m"), retry=retry, delay_s=pause)
        fenced = self.plane.ack_many(worker, [item])
        row = self.model.get(name)
        held = row is not None and row.held_by(worker, attempt)
        assert bool(fenced) is not held
        if held:
            row.state = "queued" if retry else "failed"
            row.due = self.clock.time + pause if pause else 0.0

    @rule(worker=workers, name=ids, attempt=attempts)
    def crash(self, worker, name, attempt):
        item = Finished(name, attempt, error=ErrorInfo("Killed", "m"), retry=True, crashed=True)
        fenced = self.plane.ack_many(worker, [item])
        row = self.model.get(name)
        held = row is not None and row.held_by(worker, attempt)
        assert bool(fenced) is not held
        if held:
            row.crash()

    @rule(name=ids)
    def cancel(self, name):
        row = self.model.get(name)
        live = row is not None and row.state not in TERMINAL_STATES
        assert self.plane.cancel(name) is live
        if live:
            row.state = "cancelled"

    @rule(worker=workers, names=st.lists(ids, unique=True, max_size=3))
    def release(self, worker, names):
        held = [
            name
            for name in names
            if (row := self.model.get(name)) and row.state == "running" and row.worker == worker
        ]
        assert self.plane.release(names, worker) == len(held)
        for name in held:
            self.model[name].state = "queued"
            self.model[name].attempt -= 1
            self.model[name].due = 0.0

    @rule(worker=workers, names=st.lists(ids, unique=True, max_size=3))
    def renew(self, worker, names):
        lost = set(names)
        for name in names:
            row = self.model.get(name)
            if row is not None and row.state == "running" and row.worker == worker:
                lost.discard(name)
                row.lease_until = self.clock.time + 10
        assert self.plane.renew(names, worker, lease_s=10) == lost

    @rule(seconds=st.sampled_from([1.0, 4.0, 11.0]))
    def advance(self, seconds):
        self.clock.time += seconds

    @rule()
    def collect(self):
        for outcome in self.stream.wait(0):
            assert outcome.id not in self.reported, "an end was reported twice"
            self.reported[outcome.id] = outcome.state
        assert self.reported == {
            name: row.state for name, row in self.model.items() if row.state in TERMINAL_STATES
        }

    @invariant()
    def rows_are_what_the_model_says(self):
        for name, row in self.model.items():
            stored = self.plane.get(name)
            assert (stored["state"], stored["attempt"], stored["crashes"]) == (
                row.state,
                row.attempt,
                row.crashes,
            )

    @invariant()
    def a_terminal_state_never_changes(self):
        for name, row in self.model.items():
            if row.state in TERMINAL_STATES:
                assert self.ended.setdefault(name, (row.state, row.attempt)) == (row.state, row.attempt)

    @invariant()
    def counts_agree_with_the_rows_and_the_signals(self):
        states = [row.state for row in self.model.values()]
        counts = {state: self.plane.count("q", state) for state in STATES}
        assert counts == {state: states.count(state) for state in STATES}
        found = self.plane.signals("q")
        assert found.queued + found.delayed + found.leased == counts["queued"] + counts["running"]
        assert found.arrived == len(self.model)
        assert found.finished == counts["succeeded"]


class FileMachine(PlaneMachine):
    def open_planes(self):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "dispatch.sqlite"
        return [Dispatch(path, _clock=self.clock, _rng=random.Random(1)) for _ in range(2)]

    def teardown(self):
        super().teardown()
        self.folder.cleanup()


class HttpMachine(PlaneMachine):
    """Two clients of one replica, each example in a namespace of its own."""

    url: str
    replicas_clock: Clock

    def open_planes(self):
        self.clock = self.replicas_clock
        name = f"n{uuid.uuid4().hex[:12]}"
        body = json.dumps({"name": name}).encode()
        request = urllib.request.Request(
            f"{self.url}/v1/namespaces", data=body, headers={"content-type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=30).close()
        return [HttpDispatch(self.url, namespace=name, timeout=10.0) for _ in range(2)]

    @rule()
    def collect(self):
        """Ends arrive a moment after they are there; never one twice."""
        ended = {name: row.state for name, row in self.model.items() if row.state in TERMINAL_STATES}
        until = time.monotonic() + 10
        while self.reported != ended and time.monotonic() < until:
            for outcome in self.stream.wait(0.05):
                assert outcome.id not in self.reported, "an end was reported twice"
                self.reported[outcome.id] = outcome.state
        assert self.reported == ended


@pytest.fixture(scope="class")
def served(document_server):
    """A replica whose clock stands still until the machine moves it."""
    document_server.ensure()
    database = f"test_{uuid.uuid4().hex}"
    HttpMachine.replicas_clock = Clock()
    stores = {"mongo_url": document_server.url, "mongo_database": database}
    with ReplicaThread(HttpMachine.replicas_clock, **stores, auth="off") as replica:
        HttpMachine.url = replica.url
        yield
    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        client.drop_database(database)


TestInMemory = PlaneMachine.TestCase
TestInMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestInFile = FileMachine.TestCase
TestInFile.settings = settings(max_examples=20, stateful_step_count=30, deadline=None)
TestOverHttp = pytest.mark.usefixtures("served")(HttpMachine.TestCase)
TestOverHttp.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
