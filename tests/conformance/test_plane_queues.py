"""Queues, their signals, workers, purging."""

from dataclasses import replace

import pytest

from dreamlake.lakeshore.dispatch.plane import STATES, QueueRecord, WorkerRecord
from dreamlake.lakeshore.errors import ConfigError, DispatchError


def worker(plane, name="w", **changes):
    fields = {
        "id": name,
        "queue": "q",
        "host": "host",
        "pid": 1,
        "state": "active",
        "concurrency": 2,
        "started_at": plane.now(),
        "last_seen_at": plane.now(),
    }
    return WorkerRecord(**{**fields, **changes})


def test_a_queue_is_declared_and_changed_and_keeps_its_state(plane, other):
    assert plane.queue_record("gpu") is None
    plane.declare_queue(QueueRecord("gpu", "boltzmann", temperature=0.5))
    plane.set_queue_state("gpu", "draining")
    plane.declare_queue(QueueRecord("gpu", "filo"))
    assert other.queue_record("gpu") == QueueRecord("gpu", "filo", "draining", 1.0)


def test_the_list_has_declared_queues_and_those_with_rows(plane, submit, run_one, advance):
    plane.declare_queue(QueueRecord("declared"))
    submit("a", queue="running")
    plane.claim("running", "w")
    submit("b", queue="delayed", delay_s=5)
    submit("c", queue="q")
    run_one()
    assert [record.name for record in plane.queues()] == ["declared", "delayed", "q", "running"]
    assert plane.queue_record("q") is None
    advance(10)
    plane.purge(older_than_s=1)
    assert [record.name for record in plane.queues()] == ["declared", "delayed", "running"]


def test_a_queue_nobody_knows_has_no_lifecycle(plane):
    with pytest.raises(DispatchError, match=r"no queue 'nope'.*lakeshore queues add nope"):
        plane.set_queue_state("nope", "paused")
    plane.declare_queue(QueueRecord("yes"))
    with pytest.raises(ConfigError, match="active, draining, paused, archived"):
        plane.set_queue_state("yes", "stopped")
    with pytest.raises(ConfigError, match="fifo, priority"):
        plane.declare_queue(QueueRecord("yes", "lifo"))
    with pytest.raises(ConfigError, match="temperature"):
        plane.declare_queue(QueueRecord("yes", "boltzmann", temperature=0.0))


def test_counts_of_every_state(plane, submit, advance):
    submit("queued", "running", "done", "failed", "cancelled")
    submit("delayed", delay_s=50)
    plane.claim_many("q", "w", 5)
    plane.release(["queued"], "w")
    plane.ack("done", "w")
    plane.nack("failed", "w", error="x", retry=False)
    plane.cancel("cancelled")
    assert {state: plane.count("q", state) for state in STATES} == {
        "queued": 2,
        "running": 1,
        "succeeded": 1,
        "failed": 1,
        "cancelled": 1,
    }
    assert plane.count("empty") == 0
    with pytest.raises(ConfigError, match="queued, running"):
        plane.count("q", "done")


def test_invocations_are_listed_newest_first_and_filtered(plane, submit):
    submit("a", "b")
    submit("c", queue="other")
    plane.claim("q", "w")
    assert [row["id"] for row in plane.invocations()] == ["c", "b", "a"]
    assert [row["id"] for row in plane.invocations(limit=1)] == ["c"]
    assert [row["id"] for row in plane.invocations(queue="q")] == ["b", "a"]
    assert [row["id"] for row in plane.invocations(queue="q", state="running")] == ["a"]
    assert plane.invocations(queue="q")[0] == plane.get("b")
    with pytest.raises(ConfigError):
        plane.invocations(state="odd")


def test_signals_of_a_queue_without_rows(plane):
    found = plane.signals("q")
    assert (found.queued, found.delayed, found.leased, found.arrived, found.finished) == (0, 0, 0, 0, 0)
    assert (found.oldest_age_s, found.mean_duration_s) == (0.0, None)
    assert found.as_of == pytest.approx(plane.now(), abs=1e-3)


def test_signals_follow_the_rows(plane, submit, advance):
    submit("a", "b", "c", "d")
    submit("late", delay_s=60)
    advance(10)
    plane.claim_many("q", "w", 2, lease_s=100)
    advance(4)
    plane.ack("a", "w", attempt=1)
    found = plane.signals("q")
    assert (found.queued, found.delayed, found.leased) == (2, 1, 1)
    assert (found.arrived, found.finished) == (5, 1)
    assert found.oldest_age_s == pytest.approx(14)
    assert found.mean_duration_s == pytest.approx(4)


def test_signals_need_no_claim_to_see_what_could_start(plane, submit, advance):
    """With no worker alive nothing claims, and the controller must still see the work."""
    submit("late", delay_s=60)
    submit("lost")
    plane.claim("q", "killed", lease_s=30)
    advance(70)
    found = plane.signals("q")
    assert (found.queued, found.delayed, found.leased) == (2, 0, 0)
    assert found.oldest_age_s == pytest.approx(40)


def test_the_age_of_a_delayed_invocation_begins_when_it_may_start(plane, submit, advance):
    submit("late", delay_s=60)
    submit("other")
    plane.cancel("other")
    advance(70)
    assert plane.signals("q").oldest_age_s == pytest.approx(10)
    submit("better", priority=1.0)
    assert plane.claim("q", "w").id == "better"  # and with it the delayed one has moved among the ready
    advance(5)
    assert plane.signals("q").oldest_age_s == pytest.approx(15)


def test_the_mean_duration_is_kept_and_follows_change(plane, submit, advance):
    def run(name, seconds):
        submit(name)
        claimed = plane.claim("q", "w", lease_s=1e6)
        advance(seconds)
        plane.ack(claimed.id, "w")

    for number, seconds in enumerate((1, 2, 6)):
        run(f"a{number}", seconds)
    assert plane.signals("q").mean_duration_s == pytest.approx(3)
    advance(3600)
    plane.purge(older_than_s=1)
    assert plane.signals("q").mean_duration_s == pytest.approx(3)
    assert plane.signals("q").finished == 3
    for number in range(400):
        run(f"b{number}", 10)
    assert plane.signals("q").mean_duration_s == pytest.approx(10, rel=0.15)


def test_every_change_of_a_queue_changes_its_revision(plane, submit, advance):
    seen = []

    def changed(what):
        now = plane.signals("q").revision
        assert now not in seen, f"{what} did not change the revision"
        seen.append(now)

    changed("nothing yet")
    submit("a", "b")
    changed("submit")
    plane.claim("q", "w", lease_s=5)
    changed("claim")
    plane.release(["a"], "w")
    changed("release")
    plane.claim("q", "w", lease_s=5)
    changed("claim")
    plane.nack("a", "w", error="x", retry=True)
    changed("nack")
    plane.cancel("b")
    changed("cancel")
    plane.claim("q", "w", lease_s=5)
    changed("claim")
    advance(10)
    plane.claim("q", "w2", lease_s=50)
    changed("expiry")
    plane.ack("a", "w2")
    changed("ack")
    plane.set_queue_state("q", "paused")
    changed("pause")
    submit("other", queue="other")
    assert plane.signals("q").revision == seen[-1]


def test_workers_are_listed_with_what_they_hold(plane, other, submit, advance):
    plane.register_worker(worker(plane, "w1"))
    advance(1)
    plane.register_worker(worker(plane, "w2", queue="other", state="starting"))
    submit("a", "b")
    plane.claim_many("q", "w1", 2)
    found = other.workers()
    assert [(record.id, record.queue, record.leased, record.state) for record in found] == [
        ("w1", "q", 2, "active"),
        ("w2", "other", 0, "starting"),
    ]
    assert [record.id for record in other.workers("other")] == ["w2"]
    plane.remove_worker("w1")
    plane.remove_worker("unknown")
    assert [record.id for record in other.workers()] == ["w2"]


def test_a_worker_is_idle_since_its_last_end(plane, submit, advance):
    plane.register_worker(worker(plane))
    began = plane.now()
    advance(10)
    assert plane.workers("q")[0].idle_since == pytest.approx(began, abs=1e-3)
    submit("a", "b")
    plane.claim_many("q", "w", 2, lease_s=1000)
    assert plane.workers("q")[0].idle_since is None
    advance(5)
    plane.ack("a", "w")
    assert plane.workers("q")[0].idle_since is None
    advance(5)
    plane.nack("b", "w", error="x", retry=False)
    ended = plane.now()
    advance(30)
    plane.register_worker(worker(plane, started_at=began))
    record = plane.workers("q")[0]
    assert record.idle_since == pytest.approx(ended, abs=1e-3)
    assert record.last_seen_at == pytest.approx(plane.now(), abs=1e-3)


def test_a_heartbeat_replaces_the_record(plane):
    first = worker(plane)
    plane.register_worker(first)
    plane.register_worker(replace(first, state="draining", concurrency=4))
    (found,) = plane.workers()
    assert (found.state, found.concurrency) == ("draining", 4)


def test_purge_forgets_old_ends_with_their_journals(plane, submit, run_one, advance):
    submit("old", "young", "waiting", "running")
    plane.journal_append("old", 0, b"frame")
    plane.journal_append("log:old", None, b"line")
    run_one()
    advance(100)
    run_one()
    plane.claim("q", "w")
    assert plane.purge(older_than_s=50) == 1
    assert plane.get("old") is None
    assert plane.purge(older_than_s=50) == 0
    assert [plane.get(name)["state"] for name in ("young", "waiting", "running")] == [
        "succeeded",
        "running",
        "queued",
    ]
    assert plane.journal_append("old", None, b"fresh") == 0
    assert plane.journal_append("log:old", None, b"fresh") == 0


def test_report_12_a_purged_id_starts_afresh(plane, clock, submit, advance):
    submit("a", deadline=clock.wall() + 5, key="k")
    plane.claim("q", "w")
    plane.nack("a", "w", error="x", retry=True)
    plane.claim("q", "w")
    plane.journal_append("a", 0, b"old", final=True)
    plane.ack("a", "w", result=b"old")
    advance(100)
    assert plane.purge(older_than_s=10) == 1
    stream = plane.completions()
    stream.add(["a"])
    assert submit("a", key="k") == ["a"]
    claimed = plane.claim("q", "w")
    assert (claimed.id, claimed.attempt) == ("a", 1)
    assert plane.get("a")["deadline"] is None
    assert plane.journal_append("a", 0, b"new", final=True) == 0
    plane.ack("a", "w", result=b"new", attempt=1)
    assert [data for _, data in plane.journal_read("a")] == [b"new"]
    assert [outcome.result for outcome in stream.wait(0)] == [b"new"]
    stream.close()


def test_purge_of_many(plane, submit, advance):
    names = [f"i{n}" for n in range(1300)]
    submit(*names)
    for claimed in plane.claim_many("q", "w", 1300):
        plane.cancel(claimed.id)
    advance(10)
    assert plane.purge(older_than_s=5) == 1300
    assert plane.invocations() == []
