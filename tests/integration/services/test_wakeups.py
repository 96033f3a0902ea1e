"""Wake-ups by cursor: none is lost between two requests, whichever replica answers them."""

import asyncio

import pytest

from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.services.topics import work_topic
from lakeshore_controlplane.store.bells.port import Ring
from lakeshore_controlplane.store.lane.port import QueueKey
from waiting_replica import LIMIT_S, Stage, until, waits


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database)


@pytest.fixture
def play_together(mongo_url, mongo_database, redis_url):
    return Stage(mongo_url, mongo_database, redis_url)


def work(queue="q", namespace="ns"):
    return Ring(work_topic(QueueKey(namespace, queue)))


async def cursors(replica, *topics, namespace="ns"):
    found, moved = await replica.wakeups.wait(namespace, dict.fromkeys(topics), timeout_s=LIMIT_S)
    assert moved == []
    return found


def test_cursors_come_at_once_and_nothing_moved_is_no_wake_up(play):
    async def scenario(one):
        known = await cursors(one, "work:q", "done", "journal:topic:q:a b")
        assert sorted(known) == ["done", "journal:topic:q:a b", "work:q"]
        return (await one.wakeups.wait("ns", known, timeout_s=0.02))[1]

    assert play(scenario) == []


def test_a_ring_between_two_requests_is_kept(play):
    async def scenario(one):
        known = await cursors(one, "work:q", "done", "work:other")
        one.bells.ring([work()])
        one.bells.ring([work("q", "another-tenant"), work("q")])
        later, moved = await one.wakeups.wait("ns", known, timeout_s=LIMIT_S)
        return moved, (await one.wakeups.wait("ns", later))[1]

    assert play(scenario) == (["work:q"], [])


@pytest.mark.parametrize("topics", [["work:q"], ["done", "work:q", "journal:a"]])
def test_a_wait_is_answered_by_the_first_ring(play, topics):
    async def scenario(one):
        known = await cursors(one, *topics)
        waiting = asyncio.create_task(one.wakeups.wait("ns", known, timeout_s=LIMIT_S))
        await waits(one, "work:ns/q")
        one.bells.ring([work("q", "another-tenant"), work("other")])
        one.bells.ring([work()])
        async with asyncio.timeout(3):
            return (await waiting)[1]

    assert play(scenario) == ["work:q"]


def test_appends_and_ends_wake_the_client_of_another_replica(play_together):
    async def scenario(one, two):
        await until(lambda: not two.bells.degraded)
        known = await cursors(two, "done", "journal:a")
        await one.submit("a")
        waiting = asyncio.create_task(two.wakeups.wait("ns", known, timeout_s=LIMIT_S))
        await waits(two, "journal:ns/a")
        await one.append("a", 0)
        known, moved = await waiting
        assert moved == ["journal:a"]
        await one.end("a")
        seen = set()
        while seen != {"done", "journal:a"}:
            known, moved = await two.wakeups.wait("ns", known, timeout_s=LIMIT_S)
            seen.update(moved)

    play_together(scenario)


def test_a_cursor_of_another_replica_counts_as_moved(play):
    async def scenario(one, two):
        return (await two.wakeups.wait("ns", await cursors(one, "done"), timeout_s=LIMIT_S))[1]

    assert play(scenario) == ["done"]


def test_while_rings_may_be_lost_clients_are_sent_to_look(play_together, lane_server):
    async def scenario(one):
        await until(lambda: not one.bells.degraded)
        await asyncio.to_thread(lane_server.kill)
        await until(lambda: one.bells.degraded)
        known = await cursors(one, "work:q", "done")
        async with asyncio.timeout(5):
            return (await one.wakeups.wait("ns", known, timeout_s=LIMIT_S))[1]

    assert play_together(scenario) == ["work:q", "done"]


@pytest.mark.parametrize("topic", ["", "queue:ns/q", "work:", "work:a/b", "done:ns", "journal:", "x" * 300])
def test_other_topics_are_refused(play, topic):
    async def scenario(one):
        with pytest.raises(BadRequest, match="topic"):
            await one.wakeups.wait("ns", {topic: None})

    play(scenario)
