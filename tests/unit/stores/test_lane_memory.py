"""A lane in memory does what the port says."""

import asyncio

from hypothesis import given, settings

from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.port import Entry
from lane_model import QUEUE, STEPS, follows_the_model


@given(STEPS)
@settings(max_examples=300, deadline=None)
def test_a_memory_lane_follows_the_model(steps):
    asyncio.run(follows_the_model(steps, MemoryLane()))


def test_only_the_owner_of_the_last_refill_makes_a_lane_warm(runner):
    async def told():
        lane = MemoryLane()
        assert await lane.begin_refill(QUEUE, "one", 0.0)
        assert await lane.begin_refill(QUEUE, "two", 60)
        assert not await lane.begin_refill(QUEUE, "three", 60)
        await lane.end_refill(QUEUE, "one")
        assert not await lane.is_warm(QUEUE)
        await lane.end_refill(QUEUE, "two")
        assert await lane.is_warm(QUEUE)

    runner.run(told())


def test_a_revision_advances_with_every_change_and_only_then(runner):
    async def told():
        lane = MemoryLane()
        await lane.begin_refill(QUEUE, "me", 60)
        await lane.end_refill(QUEUE, "me")
        seen = [await lane.revision(QUEUE)]
        take = {"kind": "fifo", "temperature": 1.0, "now": 1.0, "held_until": 9.0}

        async def moved():
            seen.append(await lane.revision(QUEUE))
            return seen[-1] > seen[-2]

        await lane.push(QUEUE, [Entry("a", 0.0, 1)])
        assert await moved()
        await lane.take(QUEUE, 1, **take)
        assert await moved()
        await lane.take(QUEUE, 1, **take)
        assert not await moved()
        await lane.hold(QUEUE, ["a"], 20.0)
        assert not await moved()
        await lane.hold(QUEUE, ["other"], 20.0)
        assert await moved()
        await lane.drop(QUEUE, ["a"])
        assert await moved()
        await lane.forget(QUEUE)
        assert await moved()

    runner.run(told())
