"""Forgetting: what ended long ago goes with all that is its own, and its id says so until it is used again."""

import asyncio

import pytest

from claim_replica import success
from keeping_replica import KeepingReplicas
from lakeshore_controlplane.faults import BadRequest, Expired, NotFound
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.journals import Row

Q = QueueKey("ns", "q")


@pytest.fixture
def replicas(mongo_url, mongo_database, tmp_path):
    return KeepingReplicas(mongo_url, mongo_database, tmp_path)


async def run(one, *ids, queue="q"):
    await one.submit(*ids, queue=queue)
    assert len(await one.claim("w", len(ids), queue=queue)) == len(ids)
    await one.finish(*(success(i) for i in ids))


async def frames(one, journal, namespace="ns"):
    return [row.data for row in await one.journals.frames(namespace, journal, 0, 100, 1 << 20)]


def test_a_purge_forgets_old_ends_with_what_is_theirs(replicas):
    async def test(one):
        await run(one, "old")
        for journal in ("old", "log:old", "old/000000000001", "young"):
            await one.journals.insert("ns", journal, [Row(0, b"frame")])
        replicas.clock.advance(100)
        await run(one, "young")
        await one.submit("waiting")
        assert await one.retention.purge("ns", 50) == 1
        assert await one.row("old") is None
        assert await one.retention.purge("ns", 50) == 0
        assert [await one.state(i) for i in ("young", "waiting")] == ["succeeded", "queued"]
        assert [await frames(one, j) for j in ("old", "log:old")] == [[], []]
        assert [await frames(one, j) for j in ("old/000000000001", "young")] == [[b"frame"], [b"frame"]]

    replicas.run(test)


def test_payloads_go_with_their_rows(replicas):
    async def test(one):
        await run(one, "a")
        stored = await one.payloads.take_args("ns", "a", b"x" * 100, None)
        rows = one.database.collection("invocations")
        await rows.update_one({"_id": "ns/a"}, {"$set": {"argsRef": stored.ref}})
        assert await one.payloads.fetch("ns", stored.ref) == b"x" * 100
        await one.retention.purge("ns", 0)
        with pytest.raises(NotFound):
            await one.payloads.fetch("ns", stored.ref)

    replicas.run(test)


def test_the_sweeper_keeps_each_queues_own_retention(replicas):
    async def test(one):
        await one.queues.declare("ns", "short", {"retention_s": 60})
        await one.queues.declare("ns", "long", {})
        await run(one, "a", queue="short")
        await run(one, "b", queue="long")
        assert await one.retention.sweep() == 0
        replicas.clock.advance(61)
        assert await one.retention.sweep() == 1
        assert (await one.row("a"), await one.state("b")) == (None, "succeeded")
        replicas.clock.advance(7 * 86_400)
        assert await one.retention.sweep() == 1

    replicas.run(test)


def test_a_purged_id_says_so_for_its_own_tenant_and_for_a_month(replicas):
    async def test(one):
        await run(one, "a")
        await one.retention.purge("ns", 0)
        with pytest.raises(Expired, match="invocation a was purged"):
            await one.retention.raise_if_expired("ns", "a")
        await one.retention.raise_if_expired("other", "a")
        await one.retention.raise_if_expired("ns", "never-there")
        replicas.clock.advance(30 * 86_400 + 1)
        await one.retention.raise_if_expired("ns", "a")
        await one.retention.sweep()
        assert await one.database.collection("expired").count_documents({}) == 0

    replicas.run(test)


def test_report_12_a_purged_id_starts_afresh_and_can_be_purged_again(replicas):
    async def test(one):
        await one.submit("a", deadline=replicas.clock.wall() + 50, key="k")
        await one.claim("w")
        await one.journals.insert("ns", "a", [Row(0, b"old", True)])
        await one.tail.append("ns/a", [(0, b"old")])
        await one.finish(success("a"))
        replicas.clock.advance(100)
        assert await one.retention.purge("ns", 10) == 1
        await one.submit("a", key="k")
        row = await one.row("a")
        assert (row["state"], row["attempt"], "deadlineAt" in row) == ("queued", 0, False)
        assert await one.claim("w") == [("a", 1)]
        assert await frames(one, "a") == []
        assert await one.tail.read("ns/a", -1, 1000) == []
        await one.finish(success("a"))
        assert await one.retention.purge("ns", 0) == 1
        with pytest.raises(Expired):
            await one.retention.raise_if_expired("ns", "a")

    replicas.run(test)


def test_a_purge_does_not_look_over_the_wall(replicas):
    async def test(one):
        await run(one, "a")
        assert await one.retention.purge("other", 0) == 0
        assert await one.state("a") == "succeeded"
        for odd in (-1.0, float("nan"), float("inf")):
            with pytest.raises(BadRequest, match="older_than_s"):
                await one.retention.purge("ns", odd)

    replicas.run(test)


def test_many_replicas_purge_many_rows_each_once(replicas):
    async def test(one, two, three):
        names = [f"i{n}" for n in range(1300)]
        await one.submit(*names)
        await one.cancelling.cancel("ns", names)
        replicas.clock.advance(10)
        gone = await asyncio.gather(*(replica.retention.purge("ns", 5) for replica in (one, two, three)))
        assert sum(gone) == 1300
        assert await one.database.collection("invocations").count_documents({}) == 0

    replicas.run(test)


def test_what_a_replica_began_to_remove_and_did_not_goes_a_minute_later(replicas):
    async def test(one, two):
        await run(one, "a")
        now = replicas.clock.steady()
        assert await one.retention_rows.take("ns", None, now, 10, mark="died", now=now, until=now + 60)
        assert await two.retention.purge("ns", 0) == 0
        replicas.clock.advance(61)
        assert await two.retention.purge("ns", 0) == 1

    replicas.run(test)


def test_an_undeclared_queue_goes_when_nothing_happens_on_it_for_a_week(replicas):
    async def test(one):
        await run(one, "a")
        await one.queues.declare("ns", "declared", {})
        await one.statistics.flush()
        replicas.clock.advance(6 * 86_400)
        await one.retention.purge("ns", 0)
        one.statistics.arrived(Q, 1)
        await one.statistics.flush()
        replicas.clock.advance(2 * 86_400)
        await one.retention.sweep()
        assert (await one.statistics.read(Q)).finished == 1
        replicas.clock.advance(6 * 86_400)
        await one.retention.sweep()
        assert (await one.statistics.read(Q)).finished == 0
        assert await one.book.peek(Q) is None
        assert await one.book.peek(QueueKey("ns", "declared")) is not None

    replicas.run(test)


def test_old_lines_of_the_logs_go_with_the_retention(replicas):
    async def test(one):
        await one.queues.declare("ns", "q", {"retention_s": 60})
        decision = {"kind": "scale_up", "reason": "r", "before": {}, "after": {}}
        await one.elasticity_events.add("ns", "q", **decision)
        events = one.database.collection("events")
        old = {"namespaceId": "ns", "queue": "q", "kind": "invocation.log", "at": replicas.clock.steady()}
        await events.insert_many([dict(old), {**old, "namespaceId": "other"}])
        replicas.clock.advance(61)
        await one.elasticity_events.add("ns", "q", **decision)
        await one.retention.sweep()
        assert len(await one.elasticity_events.list("ns", "q")) == 1
        assert [line["namespaceId"] for line in await events.find().to_list()] == ["other"]

    replicas.run(test)


def test_what_grows_is_measured(replicas):
    async def test(one):
        await run(one, "a", "b")
        found = await one.retention.sizes()
        assert found["invocations"].rows == 2
        assert found["result_chunks"].rows == 0

    replicas.run(test)
