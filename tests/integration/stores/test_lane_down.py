"""A Redis that is stopped or frozen costs a moment once, and is found again when it is back."""

import asyncio
import time

import pytest

from lakeshore_controlplane.store.lane.port import Entry, LaneDownError, QueueKey
from lakeshore_controlplane.store.lane.redis import RedisLane
from lakeshore_controlplane.store.redis_link import RedisLink

QUEUE = QueueKey("ns", "q")
TAKE = {"kind": "fifo", "temperature": 1.0, "now": 10.0, "held_until": 99.0}


@pytest.fixture
def lane(own_redis, runner):
    async def opened():
        link = RedisLink(own_redis.url, connections=8, connect_s=0.3, call_s=0.5, rest_s=0.3)
        await link.client.flushall()
        return RedisLane(link)

    lane = runner.run(opened())
    yield lane
    runner.run(lane.close())


async def timed_failures(lane, n):
    """Ask ``n`` times at once; gives how long each took to fail."""

    async def one():
        start = time.monotonic()
        with pytest.raises(LaneDownError):
            await lane.take(QUEUE, 1, **TAKE)
        return time.monotonic() - start

    return await asyncio.gather(*(one() for _ in range(n)))


async def answers(lane):
    async with asyncio.timeout(10):
        while True:
            try:
                return await lane.is_warm(QUEUE)
            except LaneDownError:
                await asyncio.sleep(0.05)


def test_a_stopped_redis_fails_fast_and_is_found_again(lane, own_redis, runner):
    async def told():
        await lane.begin_refill(QUEUE, "me", 60)
        await lane.push(QUEUE, [Entry("a", 0.0, 1)])
        await lane.end_refill(QUEUE, "me")
        own_redis.kill()
        assert max(await timed_failures(lane, 20)) < 1.0
        assert max(await timed_failures(lane, 200)) < 0.2
        own_redis.start()
        await answers(lane)
        await lane.push(QUEUE, [Entry("b", 0.0, 2)])

    runner.run(told())


def test_a_frozen_redis_hangs_nobody(lane, own_redis, runner):
    async def told():
        await lane.push(QUEUE, [Entry("a", 0.0, 1)])
        own_redis.freeze()
        try:
            # More than there are connections: those who wait for one give up as well.
            assert max(await timed_failures(lane, 50)) < 1.5
            assert max(await timed_failures(lane, 500)) < 0.2, "the circuit is open"
            end = time.monotonic() + 1.2
            while time.monotonic() < end:  # over several of the questions whether it is back
                assert max(await timed_failures(lane, 1)) < 0.2
                await asyncio.sleep(0.05)
        finally:
            own_redis.thaw()
        await answers(lane)
        assert (await lane.sizes(QUEUE)).ready == 1

    runner.run(told())


def test_a_cancelled_call_leaves_its_connection_to_nobody(lane, own_redis, runner):
    async def told():
        await lane.push(QUEUE, [Entry("a", 0.0, 1), Entry("b", 0.0, 2)])
        for _ in range(30):
            call = asyncio.create_task(lane.sizes(QUEUE))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            assert await lane.revision(QUEUE) > 1_000_000, "not the answer of the call before"
            assert (await lane.sizes(QUEUE)).ready == 2

    runner.run(told())


def test_a_wrong_address_is_a_lane_that_is_down(runner):
    async def told():
        lane = RedisLane(RedisLink("redis://127.0.0.1:1/0"))
        with pytest.raises(LaneDownError):
            await lane.push(QUEUE, [Entry("a", 0.0, 1)])
        await lane.close()

    runner.run(told())
