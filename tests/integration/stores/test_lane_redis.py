"""A lane in Redis does what the port says, exactly as the one in memory."""

import random

import pytest
from hypothesis import HealthCheck, given, settings

from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.port import Entry, QueueKey
from lakeshore_controlplane.store.lane.redis import RedisLane
from lakeshore_controlplane.store.redis_link import RedisLink
from lane_model import QUEUE, STEPS, follows_the_model

FIFO = {"kind": "fifo", "temperature": 1.0}


@pytest.fixture
def lane(redis_url, runner):
    async def opened():
        return RedisLane(RedisLink(redis_url))

    lane = runner.run(opened())
    yield lane
    runner.run(lane.close())


async def warm(lane, queue=QUEUE):
    assert await lane.begin_refill(queue, "me", 60)
    await lane.end_refill(queue, "me")


@given(steps=STEPS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_lane_in_redis_follows_the_model_and_draws_as_the_one_in_memory(lane, runner, steps):
    async def told():
        await lane.forget(QUEUE)
        lane._rng, memory = random.Random(7), MemoryLane(rng=random.Random(7))
        await follows_the_model(steps, lane, memory)

    runner.run(told())


def test_twenty_thousand_ids_go_through_in_order_whatever_the_batch(lane, runner):
    async def told():
        await warm(lane)
        ids = [f"job-{n}" for n in range(20_000)]
        shuffled = random.Random(3).sample(ids, len(ids))
        await lane.push(QUEUE, [Entry(one, 0.0, ids.index(one)) for one in shuffled[:200]])
        await lane.push(QUEUE, [Entry(one, 0.0, n) for n, one in enumerate(ids)])
        taken = await lane.take(QUEUE, 20_000, **FIFO, now=1.0, held_until=60.0)
        assert taken.ids == ids
        await lane.hold(QUEUE, ids, 70.0)
        assert await lane.next_due(QUEUE) == 70.0
        await lane.drop(QUEUE, ids)
        assert await lane.sizes(QUEUE) == (0, 0, 0)
        await lane.push(QUEUE, [Entry(one, 0.0, n, 5.0) for n, one in enumerate(ids)])
        taken = await lane.take(QUEUE, 20_000, **FIFO, now=5.0, held_until=60.0)
        assert taken.ids == ids[:5_000], "so much of what is due is let in at a time"
        await lane.drop(QUEUE, ids)
        assert await lane.sizes(QUEUE) == (0, 0, 0)

    runner.run(told())


def test_an_empty_lane_leaves_nothing_in_its_places(lane, runner):
    async def told():
        await warm(lane)
        await lane.push(QUEUE, [Entry(f"{n}", n, n, None if n % 2 else 3.0) for n in range(100)])
        await lane.drop(QUEUE, [f"{n}" for n in range(50)])
        taken = await lane.take(QUEUE, 100, **FIFO, now=4.0, held_until=5.0)
        assert len(taken.ids) == 50
        assert await lane._link.client.hkeys("lakeshore:{ns/q:1}:places") == [b"~warm"]

    runner.run(told())


def test_queues_are_walls(lane, runner):
    async def told():
        other = QueueKey("ns2", "q:1")
        await warm(lane)
        await lane.push(QUEUE, [Entry("a", 0.0, 1)])
        assert (await lane.take(other, 5, **FIFO, now=1.0, held_until=5.0)) == ([], [], True)
        assert (await lane.take(QUEUE, 5, **FIFO, now=1.0, held_until=5.0)).ids == ["a"]

    runner.run(told())


def test_a_revision_that_was_evicted_goes_on_higher(lane, runner):
    async def told():
        before = [await lane.revision(QUEUE, advance=True) for _ in range(500)]
        assert before == list(range(before[0], before[0] + 500))
        await lane._link.client.flushdb()
        after = await lane.revision(QUEUE)
        assert before[-1] < after < 2**53
        assert await lane.revision(QUEUE) == after

    runner.run(told())


def test_scripts_come_back_after_redis_forgot_them(lane, runner):
    async def told():
        await lane.push(QUEUE, [Entry("a", 0.0, 1)])
        await lane._link.client.script_flush()
        assert (await lane.sizes(QUEUE)).ready == 1

    runner.run(told())
