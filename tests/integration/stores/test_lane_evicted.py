"""What Redis evicts, flushes or loses makes a lane cold: never wrong in silence."""

import asyncio

import pytest

from lakeshore_controlplane.store.lane.port import Entry, LaneDownError, QueueKey
from lakeshore_controlplane.store.lane.redis import RedisLane
from lakeshore_controlplane.store.redis_link import RedisLink

QUEUE = QueueKey("ns", "q")
KEYS = ["ready", "waiting", "held", "places"]
TAKE = {"kind": "fifo", "temperature": 1.0, "now": 10.0, "held_until": 99.0}


@pytest.fixture
def lane(own_redis, runner):
    async def opened():
        lane = RedisLane(RedisLink(own_redis.url))
        await lane._link.client.flushall()
        return lane

    lane = runner.run(opened())
    yield lane
    runner.run(lane.close())


def key(name):
    return f"lakeshore:{{{QUEUE}}}:{name}"


async def refill(lane, entries, held=()):
    assert await lane.begin_refill(QUEUE, "me", 60)
    await lane.push(QUEUE, entries)
    await lane.hold(QUEUE, held, 200.0)
    await lane.end_refill(QUEUE, "me")


async def begin_when_free(lane, owner):
    async with asyncio.timeout(5):
        begun = False
        while not begun:
            begun = await lane.begin_refill(QUEUE, owner, 60)


ROWS = [Entry("first", 0.0, 1), Entry("second", 0.0, 2), Entry("later", 0.0, 0, 50.0)]


@pytest.mark.parametrize("gone", KEYS)
def test_whichever_key_goes_the_lane_is_cold_until_it_is_filled_again(lane, runner, gone):
    async def told():
        await refill(lane, ROWS, held=["running"])
        assert await lane.is_warm(QUEUE)
        await lane._link.client.delete(key(gone))
        assert not await lane.is_warm(QUEUE)
        assert await lane.take(QUEUE, 5, **TAKE) == ([], [], True)
        await lane.push(QUEUE, [Entry("new", 0.0, 3)])
        assert await lane.take(QUEUE, 5, **TAKE) == ([], [], True), "a push alone warms nothing"
        await refill(lane, [*ROWS, Entry("new", 0.0, 3)], held=["running"])
        assert await lane.sizes(QUEUE) == (3, 1, 1)
        assert (await lane.take(QUEUE, 5, **TAKE)).ids == ["first", "second", "new"]

    runner.run(told())


@pytest.mark.parametrize("gone", KEYS)
def test_a_key_that_goes_while_it_is_filled_leaves_the_lane_cold(lane, runner, gone):
    async def told():
        assert await lane.begin_refill(QUEUE, "me", 60)
        await lane.push(QUEUE, ROWS[:1])
        await lane._link.client.delete(key(gone))
        await lane.push(QUEUE, ROWS[1:])
        await lane.end_refill(QUEUE, "me")
        assert not await lane.is_warm(QUEUE)
        await refill(lane, ROWS)
        assert await lane.is_warm(QUEUE)

    runner.run(told())


def test_a_lost_lock_alone_harms_no_refill(lane, runner):
    async def told():
        assert await lane.begin_refill(QUEUE, "one", 60)
        assert not await lane.begin_refill(QUEUE, "two", 60)
        await lane._link.client.delete(key("refill"))
        await lane.push(QUEUE, ROWS)
        await lane.end_refill(QUEUE, "one")
        assert await lane.is_warm(QUEUE)

    runner.run(told())


def test_who_refills_too_slowly_does_not_warm_what_another_began(lane, runner):
    async def told():
        assert await lane.begin_refill(QUEUE, "slow", 0.001)
        await lane.push(QUEUE, ROWS)
        await begin_when_free(lane, "next")
        await lane.end_refill(QUEUE, "slow")
        assert not await lane.is_warm(QUEUE)
        assert await lane.sizes(QUEUE) == (0, 0, 0)

    runner.run(told())


def test_a_warm_lane_that_is_filled_again_stays_warm_meanwhile(lane, runner):
    async def told():
        await refill(lane, ROWS)
        assert await lane.begin_refill(QUEUE, "stopped", 0.001)
        assert (await lane.take(QUEUE, 1, **TAKE)).ids == ["first"]
        await begin_when_free(lane, "me")
        await lane.end_refill(QUEUE, "me")
        assert (await lane.take(QUEUE, 1, **TAKE)).ids == ["second"]
        assert await lane.sizes(QUEUE) == (0, 1, 2)

    runner.run(told())


async def press(client, start):
    """Fill Redis beyond its memory with what other programs keep there."""
    for n in range(start, start + 6):
        await client.set(f"other-{n}", bytes(200_000))


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
def test_report_09_whatever_is_evicted_a_lane_is_right_or_cold(lane, runner, policy):
    """Rows are the truth here. Each comes out once and in order; at random the lane's own keys go very often."""

    async def told():
        client = lane._link.client
        stats = await client.info("stats")
        used = (await client.info("memory"))["used_memory"]
        await client.config_set("maxmemory-policy", policy)
        await client.config_set("maxmemory", used + 3_000_000)
        rows = {f"job-{n:04d}": Entry(f"job-{n:04d}", 0.0, n) for n in range(500)}
        taken, colds, rounds = [], 0, 0
        try:
            async with asyncio.timeout(60):
                while rows:
                    found = await lane.take(QUEUE, 20, **TAKE)
                    colds += found.cold
                    if found.cold:
                        await refill(lane, list(rows.values()))
                    assert found.ids == list(rows)[: len(found.ids)]
                    taken += found.ids
                    for one in found.ids:
                        del rows[one]
                    await lane.drop(QUEUE, found.ids)
                    await press(client, rounds)
                    rounds += 6
        finally:
            await client.config_set("maxmemory", 0)
        assert taken == [f"job-{n:04d}" for n in range(500)]
        assert (await client.info("stats"))["evicted_keys"] > stats["evicted_keys"]
        assert colds > (1 if policy == "allkeys-random" else 0)

    runner.run(told())


def test_a_full_redis_counts_as_down_and_changes_nothing(lane, runner):
    async def told():
        client = lane._link.client
        await refill(lane, ROWS)
        before = await lane.sizes(QUEUE)
        await client.config_set("maxmemory-policy", "noeviction")
        await client.config_set("maxmemory", 1)
        try:
            with pytest.raises(LaneDownError, match="OutOfMemory"):
                await lane.push(QUEUE, [Entry("first", 0.0, 9, 70.0), Entry("more", 0.0, 3)])
        finally:
            await client.config_set("maxmemory", 0)
        await answers(lane)
        assert await lane.sizes(QUEUE) == before
        assert (await lane.take(QUEUE, 1, **TAKE)).ids == ["first"]

    runner.run(told())


def test_a_replica_that_takes_no_writes_counts_as_down(lane, own_redis, runner):
    async def told():
        client = lane._link.client
        await client.execute_command(
            "REPLICAOF", "127.0.0.1", own_redis.port + 1 if own_redis.port < 65535 else 1
        )
        try:
            with pytest.raises(LaneDownError):
                await lane.push(QUEUE, ROWS)
        finally:
            await client.execute_command("REPLICAOF", "NO", "ONE")
        await answers(lane)
        await lane.push(QUEUE, ROWS)

    runner.run(told())


async def answers(lane):
    """Wait until the lane answers again by itself."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await lane.is_warm(QUEUE)
            except LaneDownError:
                await asyncio.sleep(0.05)
