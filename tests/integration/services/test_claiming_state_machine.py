"""Any sequence of claims, reports and mishaps on two replicas, against a model that says what the rows must be."""

import asyncio
import uuid
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from claim_replica import TERMINAL, Replica
from hand_clock import HandClock
from lakeshore_controlplane.services.finishing import Report
from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.port import Entry, QueueKey
from lakeshore_controlplane.store.lane.redis import RedisLane
from lakeshore_controlplane.store.mongo.database import Database
from lakeshore_controlplane.store.redis_link import RedisLink

ids = st.sampled_from([f"i{n}" for n in range(6)])
workers = st.sampled_from(["w1", "w2"])
attempts = st.integers(1, 3)
Q = QueueKey("ns", "q")


@dataclass
class Row:
    seq: int
    priority: float
    due: float
    deadline: float
    state: str = "queued"
    attempt: int = 0
    crashes: int = 0
    worker: str | None = None
    lease_until: float = 0.0

    def held_by(self, worker, attempt):
        return (self.state, self.worker, self.attempt) == ("running", worker, attempt)

    def crash(self):
        self.crashes += 1
        self.state = "failed" if self.crashes >= 3 else "queued"


class ClaimMachine(RuleBasedStateMachine):
    mongo = lane_url = None

    @initialize()
    def open(self):
        self.loop = asyncio.new_event_loop()
        self.clock = HandClock()
        self.model = {}
        self.ended = {}
        self.turn = 0
        self.wait(self._open())

    async def _open(self):
        self.database = Database(*self.mongo)
        if self.lane_url:
            self.lane = RedisLane(RedisLink(self.lane_url), prefix=uuid.uuid4().hex)
        else:
            self.lane = MemoryLane()
        self.replicas = [await Replica(self.database, self.lane, self.clock).open() for _ in range(2)]
        await self.database.collection("invocations").delete_many({})

    def teardown(self):
        if hasattr(self, "replicas"):
            self.wait(self._close())
            self.loop.close()

    async def _close(self):
        for one in self.replicas:
            await one.close()
        await self.lane.close()
        await self.database.close()

    def wait(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, 30))

    @property
    def one(self):
        """Each verb comes to another replica than the one before."""
        self.turn += 1
        return self.replicas[self.turn % 2]

    def expire(self):
        now = self.clock.steady()
        for row in self.model.values():
            if row.state == "running" and row.lease_until <= now:
                row.crash()
            if row.state == "queued" and row.deadline <= now:
                row.state = "timeout"

    @rule(
        name=ids,
        priority=st.sampled_from([0.0, 1.0]),
        delay=st.sampled_from([0.0, 5.0]),
        deadline=st.sampled_from([None, 3.0, 20.0]),
        pushed=st.booleans(),
    )
    def submit(self, name, priority, delay, deadline, pushed):
        if name in self.model:
            return
        now, config = self.clock.steady(), {"priority": priority, "delay_s": delay}
        if deadline is not None:
            config["deadline"] = self.clock.wall() + deadline
        self.wait(self.one.submit(name, pushed=pushed, **config))
        until = float("inf") if deadline is None else now + deadline
        self.model[name] = Row(len(self.model), priority, now + delay, until)
        if not pushed:  # the replica died here; another one's sweep or the next idle claim repairs it
            self.wait(self.one.placing.refill(Q))

    @rule(worker=workers, n=st.integers(1, 4), kind=st.sampled_from(["fifo", "filo", "priority"]))
    def claim(self, worker, n, kind):
        self.wait(self.one.sweeping.sweep_once())
        self.expire()
        now, order = self.clock.steady(), -1 if kind == "filo" else 1
        ready = [name for name, row in self.model.items() if row.state == "queued" and row.due <= now]
        ready.sort(key=lambda name: (-self.model[name].priority, order * self.model[name].seq))
        got = self.wait(self.one.claim(worker, n, kind=kind, lease_s=10))
        for name in ready[:n]:
            row = self.model[name]
            row.state, row.worker, row.lease_until = "running", worker, now + 10
            row.attempt += 1
        assert got == [(name, self.model[name].attempt) for name in ready[:n]]

    @rule(
        worker=workers,
        reports=st.lists(
            st.tuples(ids, attempts, st.sampled_from(["ok", "fail", "retry", "later", "crash"])),
            max_size=4,
        ),
        together=st.booleans(),
    )
    def report(self, worker, reports, together):
        items = [
            Report(
                name,
                attempt,
                "succeeded" if what == "ok" else "failed",
                result=b"r" if what == "ok" else None,
                retry=what in ("retry", "later", "crash"),
                delay_s=5.0 if what == "later" else 0.0,
                crashed=what == "crash",
                report_id=uuid.uuid4().hex,
            )
            for name, attempt, what in reports
        ]
        expected = [item.id for item in items if not self._told(worker, item)]
        told = [items] if together else [[item] for item in items]
        fenced = [name for part in told for name in self.wait(self.one.finishing.report("ns", worker, part))]
        assert sorted(fenced) == sorted(expected)
        again = [name for part in told for name in self.wait(self.one.finishing.report("ns", worker, part))]
        assert set(again) >= set(expected)
        assert len(again) <= len(items)

    def _told(self, worker, item):
        row = self.model.get(item.id)
        if row is None or not row.held_by(worker, item.attempt):
            return False
        if item.crashed:
            row.crash()
        else:
            row.state = "succeeded" if item.state == "succeeded" else "queued" if item.retry else "failed"
            if item.delay_s:
                row.due = self.clock.steady() + item.delay_s
        return True

    @rule(names=st.lists(ids, max_size=3))
    def cancel(self, names):
        live = [n for n in dict.fromkeys(names) if n in self.model and self.model[n].state not in TERMINAL]
        assert self.wait(self.one.cancelling.cancel("ns", names)) == live
        for name in live:
            self.model[name].state = "killed"

    @rule(worker=workers, names=st.lists(ids, max_size=3))
    def release(self, worker, names):
        held = {n for n in names if n in self.model and self.model[n].held_by(worker, self.model[n].attempt)}
        assert self.wait(self.one.leasing.release("ns", worker, names)) == len(held)
        for name in held:
            self.model[name].state = "queued"
            self.model[name].attempt -= 1

    @rule(worker=workers, names=st.lists(ids, max_size=3))
    def renew(self, worker, names):
        lost = []
        for name in dict.fromkeys(names):
            row = self.model.get(name)
            if row is not None and row.held_by(worker, row.attempt):
                row.lease_until = self.clock.steady() + 10
            else:
                lost.append(name)
        assert self.wait(self.one.leasing.renew("ns", worker, names, 10)) == lost

    @rule(seconds=st.sampled_from([1.0, 4.0, 11.0]))
    def advance(self, seconds):
        self.clock.advance(seconds)

    @rule()
    def the_lane_forgets(self):
        self.wait(self.lane.forget(Q))

    @rule(name=ids, priority=st.sampled_from([0.0, 9.0]))
    def the_lane_is_wrong(self, name, priority):
        """A place that has nothing to do with the row, which a claim must see through."""
        row = self.model.get(name)
        if row is None or row.state != "queued":
            self.wait(self.lane.push(Q, [Entry(name, priority, 7)]))

    @invariant()
    def rows_are_what_the_model_says(self):
        for name, row in self.model.items():
            stored = self.wait(self.replicas[0].row(name))
            found = (stored["state"], stored["attempt"], stored["crashes"])
            assert found == (row.state, row.attempt, row.crashes)
            if row.state in TERMINAL:
                assert self.ended.setdefault(name, found) == found, "a terminal state changed"


@pytest.mark.parametrize("lane", ["memory", "redis"])
def test_any_sequence_of_verbs_and_mishaps(lane, request, mongo_url, mongo_database):
    url = request.getfixturevalue("redis_url") if lane == "redis" else None
    stores = {"mongo": (mongo_url, mongo_database), "lane_url": url}
    run_state_machine_as_test(
        type("Machine", (ClaimMachine,), stores),
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
