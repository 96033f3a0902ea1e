"""Trouble that users of similar systems reported, with a control plane of real processes."""

import fault_bodies as bodies
import pymongo
import pytest

from dreamlake.lakeshore.dispatch.plane import RunConfig, Submission, WorkerRecord
from dreamlake.lakeshore.errors import FencedError, InvocationFailedError


def test_report_04_a_replica_killed_as_it_reaps_leaves_the_rest_to_another(site, redis_url):
    """The leases of 600 jobs end at once while one of two replicas is killed, and all come back as attempt 2."""
    replicas = site.replica(2, redis_url=redis_url, sweep_every_s=0.2)
    plane = site.plane(replicas[0].url)
    ids = [f"job-{n:03}" for n in range(600)]
    plane.submit_many("default", [Submission(name, b"e") for name in ids])
    assert len(plane.claim_many("default", "lost", 600, lease_s=1.5)) == 600
    site.until(lambda: site.plane(replicas[0].url).count("default") > 0, "a lease to be reaped")
    replicas[0].kill()
    other = site.plane(replicas[1].url)
    site.until(lambda: other.count("default") == 600, "the other replica to reap", 10)
    claimed = []
    while len(claimed) < 600:
        claimed += other.claim_many("default", "other", 600 - len(claimed))
    assert {job.attempt for job in claimed} == {2}
    assert sorted(job.id for job in claimed) == ids
    for job in claimed:
        other.ack(job.id, "other", result=b"r", attempt=2)
    site.witness.assert_all_ended(ids)


def test_report_06_a_vanished_worker_record_and_the_same_name_again_lose_no_job(
    site, mongo_url, mongo_database
):
    """A pod comes back under its name: what it held before is not its own, and recovers as everybody's."""
    plane = site.plane(site.replica().url)
    record = WorkerRecord("pod-0", "default", "host", 1, "active", 1, plane.now(), plane.now())
    plane.register_worker(record)
    plane.submit("default", b"e", id="held")
    assert plane.claim("default", "pod-0", lease_s=1.0).attempt == 1
    with pymongo.MongoClient(mongo_url) as client:
        assert client[mongo_database].workers.delete_one({"_id": "default/pod-0"}).deleted_count == 1
    plane.register_worker(record)
    again = site.until(lambda: plane.claim("default", "pod-0"), "the job to come back")
    assert (again.id, again.attempt) == ("held", 2)
    with pytest.raises(FencedError):
        plane.ack("held", "pod-0", result=b"of its former life", attempt=1)
    plane.ack("held", "pod-0", result=b"r", attempt=2)
    assert plane.result("held") == b"r"
    site.witness.assert_all_ended(["held"])


def test_report_20_a_head_job_that_demands_the_impossible_lets_others_run(site):
    """Nothing that the first jobs ask for can be had: each ends with a reason, and those behind them run."""
    replica = site.replica()
    queue = site.queue(replica.url)
    plane = queue.dispatch

    first = RunConfig(priority=10.0, retries=0)
    plane.submit("default", b"no envelope", id="garbage", config=first)
    by_value = queue.submit(lambda: 1, _priority=9.0, _retries=0)  # the worker runs no code by value
    later = queue.submit(bodies.double, 1, _priority=8.0, _delay_s=3600)
    others = [queue.submit(bodies.double, n) for n in range(5)]
    site.worker(replica.url)
    assert [queue.result(inv_id, timeout=20) for inv_id in others] == [0, 2, 4, 6, 8]
    for inv_id in ("garbage", by_value):
        with pytest.raises(InvocationFailedError):
            queue.result(inv_id, timeout=20)
    assert plane.get(later)["state"] == "queued"
    assert queue.cancel(later)
    site.witness.assert_all_ended(
        ["garbage", by_value, later, *others], states=("succeeded", "failed", "killed")
    )


def test_who_waits_for_a_job_that_expires_is_told_why(site):
    queue = site.queue(site.replica().url)
    plane = queue.dispatch
    late = queue.submit(bodies.double, 1, _deadline=plane.now() + 0.5)
    with pytest.raises(InvocationFailedError, match="its deadline passed"):
        queue.result(late, timeout=20)
    poison = queue.submit(bodies.double, 2)
    for turn in range(3):
        job = site.until(lambda: plane.claim("default", "lost", lease_s=0.2), "the job to come back")
        assert job.attempt == turn + 1
    with pytest.raises(InvocationFailedError, match="PoisonJob"):
        queue.result(poison, timeout=20)
    site.witness.assert_all_ended([late, poison], states=("timeout", "failed"))
