"""One queue's pool: real processes that stand in for workers, on a plane whose clock the test moves."""

import os
import signal
import socket
import sys

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.plane import WorkerRecord
from dreamlake.lakeshore.pool.queue_file import parse_queues
from dreamlake.lakeshore.pool.queue_pool import QueuePool
from dreamlake.lakeshore.pool.table import workers_line

SLEEP = "import time; time.sleep(120)"
FAIL = "import sys; sys.exit('the root is gone')"


class HandClock:
    def __init__(self):
        self.since_boot = 1000.0

    def steady(self):
        return self.since_boot

    awake = steady

    def wall(self):
        return 1_800_000_000.0 + self.since_boot

    def boot(self):
        return "boot"


class Bench:
    """A pool, its plane, and the hands that play the workers' part."""

    def __init__(self, folder, elasticity, code):
        self.clock = HandClock()
        self.plane = Dispatch(":memory:", _clock=self.clock)
        (spec,) = parse_queues(
            "apiVersion: lakeshore.dreamlake.ai/v1alpha1\nkind: Queue\nmetadata: {name: q}\n"
            f"spec: {{elasticity: {elasticity}}}\n",
            where="test",
        )
        self.plane.declare_queue(spec.record)
        self.pool = QueuePool(self.plane, spec, [sys.executable, "-c", code], folder)
        self.submitted = 0

    def tick(self, after=0.1):
        self.clock.since_boot += after
        self.pool.reap()
        return self.pool.tick()

    def submit(self, count):
        for _ in range(count):
            self.submitted += 1
            self.plane.submit("q", b"x", id=f"job-{self.submitted}")

    @property
    def processes(self):
        return self.pool.processes.workers

    def get_ready(self):
        """Let every process that was started say that it takes jobs."""
        self.clock.since_boot += 0.1
        now = self.plane.now()
        for process in self.processes.values():
            self.plane.register_worker(
                WorkerRecord(
                    f"w-{process.pid}", "q", socket.gethostname(), process.pid, "active", 1, now, now, 0, now
                )
            )

    def claim_all(self):
        """Let each worker claim one job; the claims."""
        claims = [self.plane.claim("q", f"w-{p.pid}", lease_s=9999.0) for p in self.processes.values()]
        return [(claim, p) for claim, p in zip(claims, self.processes.values(), strict=True) if claim]

    def all_end(self):
        """Wait until every process has ended by itself."""
        for process in self.processes.values():
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def bench(tmp_path):
    made = []

    def make(elasticity, code=SLEEP):
        made.append(Bench(tmp_path / "logs", elasticity, code))
        return made[-1]

    yield make
    for each in made:
        each.pool.processes.kill_all()
        each.plane.close()


def test_work_brings_workers_and_the_end_of_work_takes_them_away(bench):
    b = bench("{kind: max_count, max: 3, idleTimeoutSeconds: 5}")
    assert b.tick().signals.workers == ()
    b.submit(2)
    view = b.tick()
    assert (view.event.kind, view.event.after["started"], len(b.processes)) == ("scale_up", 2, 2)
    b.get_ready()
    for claim, process in b.claim_all():
        b.plane.ack(claim.id, f"w-{process.pid}", result=b"\xc0")
    assert b.tick(after=1.0).decision.victims == ()
    view = b.tick(after=5.0)
    assert view.event.kind == "scale_down"
    assert len(view.event.after["drained"]) == 2
    b.all_end()
    view = b.tick()
    assert (view.signals.workers, b.processes) == ((), {})
    assert b.plane.workers("q") == []


def test_workers_on_their_way_are_not_ordered_twice(bench):
    b = bench("{kind: fully_elastic}")
    b.submit(3)
    b.tick()
    assert len(b.processes) == 3
    for _ in range(5):
        assert b.tick(after=2.0).decision.start == 0
    assert len(b.processes) == 3


def test_report_13_an_empty_backlog_stops_no_leased_worker(bench):
    """Ten jobs run, none waits, and the idle timeout has passed many times over."""
    b = bench("{kind: fully_elastic, idleTimeoutSeconds: 1, scaleDown: {maxFractionPerStep: 1.0}}")
    b.submit(10)
    b.tick()
    b.get_ready()
    assert len(b.claim_all()) == 10
    for _ in range(20):
        view = b.tick(after=30.0)
        assert (view.signals.queued, view.signals.leased) == (0, 10)
        assert not any(process.draining for process in b.processes.values())
    assert all(process.process.poll() is None for process in b.processes.values())


def test_of_idle_and_busy_workers_only_the_idle_go(bench):
    b = bench("{kind: max_count, max: 4, idleTimeoutSeconds: 5, scaleDown: {maxFractionPerStep: 1.0}}")
    b.submit(4)
    b.tick()
    b.get_ready()
    claims = b.claim_all()
    busy = claims[0][1].name
    for claim, process in claims[1:]:
        b.plane.ack(claim.id, f"w-{process.pid}", result=b"\xc0")
    b.tick()
    view = b.tick(after=6.0)
    assert set(view.event.after["drained"]) == set(b.processes) - {busy}
    assert not b.processes[busy].draining


def test_report_16_workers_rise_again_for_a_second_burst(bench):
    b = bench("{kind: max_count, max: 20, idleTimeoutSeconds: 5, scaleDown: {maxFractionPerStep: 1.0}}")
    b.submit(20)
    b.tick()
    assert len(b.processes) == 20
    b.get_ready()
    for claim, process in b.claim_all():
        b.plane.ack(claim.id, f"w-{process.pid}", result=b"\xc0")
    b.tick()
    b.tick(after=6.0)
    b.all_end()
    assert b.tick().signals.workers == ()
    b.submit(10)
    view = b.tick()
    assert (view.event.kind, len(b.processes)) == ("scale_up", 10)


def test_starts_that_fail_back_off_say_why_and_are_few(bench):
    b = bench("{kind: fully_elastic}", FAIL)
    b.submit(10)
    assert b.tick().decision.start == 10
    b.all_end()
    view = b.tick()
    assert view.decision.start == 0
    assert "1 start failed, trying again in 10 s: the root is gone (log: " in view.decision.reason
    assert b.tick(after=5.0).decision.start == 0
    view = b.tick(after=6.0)
    assert (view.decision.start, len(b.processes)) == (4, 4)
    assert "going slowly: the root is gone" in view.decision.reason
    b.all_end()
    view = b.tick()
    assert "2 starts in a row failed, trying again in 20 s" in view.decision.reason
    assert b.tick(after=15.0).decision.start == 0
    assert b.tick(after=6.0).decision.start == 4


def test_a_start_that_works_ends_the_backing_off(bench):
    b = bench("{kind: fully_elastic}", FAIL)
    b.submit(10)
    b.tick()
    b.all_end()
    b.tick()
    b.pool.processes.command = [sys.executable, "-c", SLEEP]
    assert b.tick(after=11.0).decision.start == 4
    b.get_ready()
    view = b.tick()
    assert (view.decision.start, "failed" in view.decision.reason) == (6, False)


def test_a_machine_that_cannot_start_processes_backs_off_and_says_so(bench):
    b = bench("{kind: fixed, replicas: 2}")
    b.pool.processes.command = ["/nowhere/python"]
    b.tick()
    view = b.tick()
    assert view.decision.start == 0
    assert "this machine cannot start a process" in view.decision.reason
    assert b.processes == {}


def test_a_worker_that_dies_is_replaced_and_its_record_removed(bench):
    b = bench("{kind: fixed, replicas: 1}")
    b.tick()
    b.get_ready()
    b.tick()
    (old,) = b.processes.values()
    os.kill(old.pid, signal.SIGKILL)
    b.all_end()
    view = b.tick()
    (new,) = b.processes.values()
    assert (new.name, view.event.kind) == ("q-2", "scale_up")
    assert b.plane.workers("q") == []
    assert "failed" not in view.decision.reason


def test_a_worker_that_dies_before_it_is_ready_without_a_word_is_described(bench):
    b = bench("{kind: fixed, replicas: 1}")
    b.tick()
    (only,) = b.processes.values()
    os.kill(only.pid, signal.SIGKILL)
    b.all_end()
    assert "ended by SIGKILL (log: " in b.tick().decision.reason


@pytest.mark.parametrize(("state", "word"), [("paused", "paused"), ("archived", "archived")])
def test_a_closed_queue_wants_no_workers(bench, state, word):
    b = bench("{kind: fixed, replicas: 2}")
    b.tick()
    b.get_ready()
    b.plane.set_queue_state("q", state)
    view = b.tick()
    assert f"the queue is {word}" in view.decision.reason
    assert all(process.draining for process in b.processes.values())


def test_a_pool_that_closes_only_looks(bench):
    b = bench("{kind: fixed, replicas: 2}")
    view = b.pool.tick(closing=True)
    assert (view.decision.wanted, b.processes) == (0, {})
    assert "closing" in view.event.reason


def test_the_workers_in_words(bench):
    b = bench("{kind: fixed, replicas: 3}")
    b.tick()
    assert workers_line(b.tick()) == "3 of 3 (3 starting)"
    b.submit(1)
    b.get_ready()
    b.claim_all()
    assert workers_line(b.tick()) == "3 of 3 (1 busy, 2 idle)"
    b.plane.set_queue_state("q", "paused")
    b.tick()
    assert workers_line(b.pool.tick(closing=True)).startswith("1 of 0 (1 busy, 2 draining)")


def test_a_plane_that_fails_keeps_nothing_from_being_reaped(bench):
    b = bench("{kind: fixed, replicas: 1}", "pass")
    b.tick()
    b.all_end()
    b.plane.close()
    b.pool.reap()
    assert b.processes == {}


def test_a_worker_that_ends_well_before_it_was_seen_is_no_failed_start(bench):
    b = bench("{kind: fixed, replicas: 1}", code="")
    b.tick()
    b.all_end()
    view = b.tick()
    assert view.signals.start_failures == 0
    assert len(b.processes) == 1


def test_a_worker_that_was_told_to_go_by_somebody_else_is_replaced_while_it_drains(bench):
    b = bench("{kind: fixed, replicas: 1}")
    b.tick()
    b.get_ready()
    b.tick()
    (process,) = b.processes.values()
    now = b.plane.now()
    b.plane.register_worker(
        WorkerRecord(f"w-{process.pid}", "q", socket.gethostname(), process.pid, "draining", 1, now, now)
    )
    view = b.tick()
    assert view.phase_count("draining") == 1
    assert len(b.processes) == 2
    b.tick()
    assert (process.process.poll(), len(b.processes)) == (None, 2)  # a second signal would stop its job
