"""Queues: declared and made by use, validated, moved through their lifecycle, listed, deleted."""

import asyncio

import pytest

from keeping_replica import KeepingReplicas
from lakeshore_controlplane.faults import BadRequest, NotFound, Refused
from lakeshore_controlplane.services.topics import change_topic, queue_topic, work_topic
from lakeshore_controlplane.store.lane.port import QueueKey

Q = QueueKey("ns", "q")


@pytest.fixture
def replicas(mongo_url, mongo_database, tmp_path):
    return KeepingReplicas(mongo_url, mongo_database, tmp_path)


def test_a_queue_that_nobody_declared_is_made_once_by_fifty_at_a_moment(replicas):
    async def test(one, two):
        found = await asyncio.gather(*(book.get(Q) for book in (one.book, two.book) for _ in range(25)))
        assert len({queue["createdAt"] for queue in found}) == 1
        assert {(queue["kind"], queue["state"], queue["declared"]) for queue in found} == {
            ("fifo", "active", False)
        }
        assert await one.database.collection("queues").count_documents({}) == 1

    replicas.run(test)


def test_to_look_is_not_to_make(replicas):
    async def test(one):
        assert await one.book.peek(Q) is None
        await one.book.get(Q)
        assert (await one.book.peek(Q))["name"] == "q"

    replicas.run(test)


def test_a_change_is_seen_at_once_here_and_within_seconds_on_other_replicas(replicas):
    async def test(one, two):
        await one.queues.declare("ns", "q", {})
        assert (await two.book.get(Q))["state"] == "active"
        assert (await one.book.get(Q))["state"] == "active"
        await one.queues.set_state("ns", "q", "paused")
        assert (await one.book.get(Q))["state"] == "paused"
        replicas.clock.advance(5.1)
        assert (await two.book.get(Q))["state"] == "paused"

    replicas.run(test)


def test_while_bells_may_be_lost_a_copy_serves_for_a_second(replicas):
    async def test(one, two):
        await two.book.get(Q)
        await one.queues.set_state("ns", "q", "paused")
        two.bells.degraded = True
        replicas.clock.advance(1.1)
        assert (await two.book.get(Q))["state"] == "paused"

    replicas.run(test)


def test_a_declaration_changes_the_order_and_keeps_the_rest(replicas):
    async def test(one):
        assert await one.queues.get("ns", "q") is None
        made = await one.queues.declare(
            "ns",
            "q",
            {"kind": "boltzmann", "kind_params": {"temperature": 0.5}, "admission": {"max_depth": 3}},
        )
        assert (made["kind"], made["kind_params"], made["state"]) == (
            "boltzmann",
            {"temperature": 0.5},
            "active",
        )
        assert (made["retention_s"], made["legacy_lease_s"]) == (7 * 86_400, 86_400)
        await one.queues.set_state("ns", "q", "draining")
        again = await one.queues.declare("ns", "q", {"kind": "filo"})
        assert (again["kind"], again["kind_params"], again["state"]) == ("filo", {}, "draining")
        assert again["admission"] == {"max_depth": 3}
        changed = await one.queues.change("ns", "q", {"retention_s": 60, "elasticity": {"kind": "max_count"}})
        assert (changed["retention_s"], changed["kind"]) == (60.0, "filo")
        assert changed == await one.queues.get("ns", "q")

    replicas.run(test)


def test_the_list_has_declared_queues_and_those_with_rows(replicas):
    async def test(one):
        await one.queues.declare("ns", "declared", {})
        await one.queues.declare("other", "elsewhere", {})
        await one.queues.declare("ns0", "elsewhere", {})
        await one.book.get(QueueKey("ns", "empty"))
        await one.submit("a", queue="used")
        found = await one.queues.list("ns")
        assert [(queue["name"], queue["declared"]) for queue in found] == [
            ("declared", True),
            ("used", False),
        ]

    replicas.run(test)


def test_a_queue_that_nobody_knows_has_no_lifecycle(replicas):
    async def test(one):
        for change in (
            one.queues.set_state("ns", "nope", "paused"),
            one.queues.change("ns", "nope", {"kind": "filo"}),
            one.queues.delete("ns", "nope"),
        ):
            with pytest.raises(NotFound, match=r"no queue 'nope'.*lakeshore queues add nope"):
                await change
        with pytest.raises(BadRequest, match="active, draining, paused, archived"):
            await one.queues.set_state("ns", "nope", "stopped")

    replicas.run(test)


def test_a_change_of_state_wakes_all_who_wait_and_moves_the_revision(replicas):
    async def test(one):
        before = (await one.queues.declare("ns", "q", {}))["revision"]
        bells = [one.bells.subscribe(topic(Q)) for topic in (queue_topic, work_topic, change_topic)]
        after = (await one.queues.set_state("ns", "q", "paused"))["revision"]
        assert after != before
        for bell in bells:
            assert await bell.wait(0)
            bell.close()

    replicas.run(test)


def test_a_queue_is_deleted_only_when_it_has_no_rows(replicas):
    async def test(one):
        await one.queues.declare("ns", "q", {})
        await one.submit("a")
        with pytest.raises(Refused, match="archive it"):
            await one.queues.delete("ns", "q")
        await one.cancelling.cancel("ns", ["a"])
        await one.retention.purge("ns", 0)
        await one.queues.delete("ns", "q")
        assert await one.queues.get("ns", "q") is None
        assert await one.book.peek(Q) is None

    replicas.run(test)


def test_decisions_are_listed_newest_first_and_idle_ticks_on_request(replicas):
    async def test(one):
        for kind in ("scale_up", "tick_noop", "scale_down"):
            await one.elasticity_events.add(
                "ns", "q", kind=kind, reason=f"because {kind}", before={"workers": 1}, after={"workers": 2}
            )
            replicas.clock.advance(1)
        found = await one.elasticity_events.list("ns", "q")
        assert [event["kind"] for event in found] == ["scale_down", "scale_up"]
        assert found[0]["reason"] == "because scale_down"
        assert len(await one.elasticity_events.list("ns", "q", verbose=True)) == 3
        assert await one.elasticity_events.list("other", "q", verbose=True) == []

    replicas.run(test)
