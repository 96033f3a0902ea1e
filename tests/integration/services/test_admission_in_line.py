"""Queues that let their submitters wait for room: in line, in order, and told when there is none to come."""

import asyncio

import pytest

from hand_clock import HandClock
from lakeshore_controlplane.faults import QueueFull, QueueUnavailable
from lakeshore_controlplane.services.room import Limits
from lakeshore_controlplane.services.submission import Submitted
from lakeshore_controlplane.store.lane.port import QueueKey
from submitting_replica import Stage, ids_of, item

Q = QueueKey("ns", "q")


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def play(mongo_url, mongo_database, clock):
    return Stage(mongo_url, mongo_database, clock).play


def test_a_blocking_queue_lets_its_submitter_wait_for_a_claim(play):
    async def scenario(one):
        await one.queue(max_depth=1, on_full="block")
        await one.submit("a")
        waiting = asyncio.create_task(one.submit("b", wait_s=30.0))
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        assert await one.claim() == ["a"]
        return await asyncio.wait_for(waiting, 5.0)

    assert play(scenario) == Submitted("b", "q")


def test_a_blocking_queue_refuses_at_once_one_who_will_not_wait_and_later_one_who_waited(play):
    async def scenario(one):
        await one.queue(max_depth=1, on_full="block")
        await one.submit("a")
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(QueueFull):
            await one.submit("b")
        refused_after = loop.time() - began
        with pytest.raises(QueueFull):
            await one.submit("b", wait_s=0.5)
        return refused_after, loop.time() - began - refused_after

    at_once, waited = play(scenario)
    assert at_once < 0.5 <= waited + 0.01


def test_those_in_line_get_room_in_their_order(play):
    async def scenario(one):
        await one.queue(max_depth=1, on_full="block")
        await one.submit("a")
        order = []

        async def limits_now():
            return Limits(max_depth=1, waits=True)

        async def enter(name):
            grant = await one.admission.enter(Q, [name], limits_now, whole=False, wait_s=30.0)
            order.append(name)
            await one.admission.settle(grant, 0)

        waiting = [asyncio.create_task(enter(f"w{n}")) for n in range(5)]
        await asyncio.wait(waiting, timeout=0.1)
        with pytest.raises(QueueFull):  # nobody gets ahead of them
            await one.submit("b")
        await one.claim()
        await asyncio.gather(*waiting)
        return order

    assert play(scenario) == [f"w{n}" for n in range(5)]


def test_a_batch_larger_than_its_queue_flows_through_while_rows_are_claimed(play):
    async def scenario(one):
        await one.queue(max_depth=3, on_full="block")
        waiting = asyncio.create_task(one.submit_many(*(item(f"i{n}") for n in range(10)), wait_s=30.0))
        claimed = []
        while not waiting.done():
            claimed += await one.claim()
            assert await one.count() <= 3
            await asyncio.wait([waiting], timeout=0.02)
        return ids_of(waiting.result()), claimed + await one.claim(10)

    ids, claimed = play(scenario)
    assert ids == claimed == [f"i{n}" for n in range(10)]


def test_one_who_waits_learns_that_the_queue_was_closed_or_widened(play):
    async def scenario(one):
        await one.queue(max_depth=1, on_full="block")
        await one.submit("a")
        waiting = asyncio.create_task(one.submit("b", wait_s=30.0))
        await asyncio.wait([waiting], timeout=0.2)
        await one.queue(max_depth=2, on_full="block")
        assert await asyncio.wait_for(waiting, 5.0) == Submitted("b", "q")
        waiting = asyncio.create_task(one.submit("c", wait_s=30.0))
        await asyncio.wait([waiting], timeout=0.2)
        await one.queue(state="paused", max_depth=2, on_full="block")
        with pytest.raises(QueueUnavailable, match="is paused"):
            await asyncio.wait_for(waiting, 5.0)

    play(scenario)


def test_a_submitter_that_gives_up_leaves_the_line(play):
    async def scenario(one):
        await one.queue(max_depth=1, on_full="block")
        await one.submit("a")
        first = asyncio.create_task(one.submit("b", wait_s=30.0))
        second = asyncio.create_task(one.submit("c", wait_s=30.0))
        await asyncio.wait([first, second], timeout=0.2)
        first.cancel()
        await one.claim()
        return await asyncio.wait_for(second, 5.0)

    assert play(scenario) == Submitted("c", "q")
