"""A tail gives the newest frames without a gap, in memory and in Redis alike; Redis's is bounded and never raises."""

import time

import pytest

from lakeshore_controlplane.store.redis_link import RedisLink
from lakeshore_controlplane.store.tail.memory import MemoryTail
from lakeshore_controlplane.store.tail.redis import RedisTail

MUCH = 1 << 30


@pytest.fixture(params=["memory", "redis"])
def tail(request, runner):
    async def opened():
        return (
            MemoryTail()
            if request.param == "memory"
            else RedisTail(RedisLink(request.getfixturevalue("redis_url")))
        )

    tail = runner.run(opened())
    yield tail
    runner.run(tail.close())


@pytest.fixture
def redis_tail(redis_url, runner):
    async def opened():
        return RedisTail(RedisLink(redis_url))

    tail = runner.run(opened())
    yield tail
    runner.run(tail.close())


def frames(*seqs):
    return [(seq, b"frame %d" % seq) for seq in seqs]


def test_frames_are_read_from_any_place(tail, runner):
    async def told():
        await tail.append("ns/j", frames(0, 1, 2))
        await tail.append("ns/j", frames(3))
        assert await tail.read("ns/j", -1, MUCH) == frames(0, 1, 2, 3)
        assert await tail.read("ns/j", 1, MUCH) == frames(2, 3)
        assert await tail.read("ns/j", 3, MUCH) == []
        assert await tail.read("ns/j", 2**63, MUCH) == []
        assert await tail.read("ns/other", -1, MUCH) == []
        await tail.drop("ns/j")
        await tail.drop("ns/j")
        assert await tail.read("ns/j", -1, MUCH) == []

    runner.run(told())


def test_a_gap_is_not_read_over_and_goes_on_behind(tail, runner):
    async def told():
        await tail.append("ns/j", frames(4, 5, 8, 9))
        assert await tail.read("ns/j", -1, MUCH) == []
        assert await tail.read("ns/j", 3, MUCH) == frames(4, 5)
        assert await tail.read("ns/j", 5, MUCH) == []
        assert await tail.read("ns/j", 7, MUCH) == frames(8, 9)

    runner.run(told())


def test_frames_that_come_late_or_again_are_left_out(tail, runner):
    async def told():
        await tail.append("ns/j", frames(0, 1, 3))
        await tail.append("ns/j", [(1, b"again"), (2, b"late"), (4, b"new")])
        assert await tail.read("ns/j", -1, MUCH) == frames(0, 1)
        assert await tail.read("ns/j", 2, MUCH) == [*frames(3), (4, b"new")]

    runner.run(told())


def test_a_read_gives_about_the_bytes_that_were_asked_for(tail, runner):
    async def told():
        await tail.append("ns/j", [(n, bytes(1000)) for n in range(500)])
        assert len(await tail.read("ns/j", -1, 10_000)) == 10
        assert len(await tail.read("ns/j", -1, 1)) == 1
        assert len(await tail.read("ns/j", -1, MUCH)) == 500

    runner.run(told())


def test_a_journal_may_be_called_anything(tail, runner):
    async def told():
        for name in ("", "{}", "}{", "\u00fc \n", "\ud800", "x" * 1024):
            await tail.append(name, frames(0))
            assert await tail.read(name, -1, MUCH) == frames(0), repr(name)

    runner.run(told())


def test_redis_keeps_about_a_thousand_frames_for_ten_minutes(redis_tail, runner):
    async def told():
        await redis_tail.append("ns/j", frames(*range(5000)))
        client = redis_tail._link.client
        key = redis_tail._key("ns/j")
        assert 1000 <= await client.xlen(key) <= 1200
        assert 0 < await client.pttl(key) <= 600_000
        assert await redis_tail.read("ns/j", 4500, MUCH) == frames(*range(4501, 5000))

    runner.run(told())


def test_redis_keeps_few_of_large_frames(redis_tail, runner):
    async def told():
        for n in range(60):
            await redis_tail.append("ns/j", [(n, bytes(500_000))])
        assert await redis_tail._link.client.memory_usage(redis_tail._key("ns/j")) < 8_000_000
        assert len(await redis_tail.read("ns/j", 55, MUCH)) == 4
        await redis_tail.append("ns/j", [(60, bytes(5_000_000)), (61, b"next")])
        assert await redis_tail.read("ns/j", 59, MUCH) == []
        assert await redis_tail.read("ns/j", 60, MUCH) == [(61, b"next")]

    runner.run(told())


def test_report_09_an_evicted_journal_is_a_tail_that_has_nothing(redis_tail, runner):
    async def told():
        await redis_tail.append("ns/j", frames(0, 1, 2))
        await redis_tail._link.client.delete(redis_tail._key("ns/j"))
        assert await redis_tail.read("ns/j", -1, MUCH) == []
        await redis_tail.append("ns/j", frames(3, 4))
        assert await redis_tail.read("ns/j", -1, MUCH) == [], "the rows have what came before"
        assert await redis_tail.read("ns/j", 2, MUCH) == frames(3, 4)

    runner.run(told())


@pytest.mark.parametrize("how", ["stopped", "frozen", "full"])
def test_a_tail_never_raises_and_costs_a_moment_once(own_redis, runner, how):
    async def told():
        tail = RedisTail(RedisLink(own_redis.url, connect_s=0.3, call_s=0.5, rest_s=0.3))
        client = tail._link.client
        await tail.append("ns/j", frames(0))
        if how == "full":
            await client.config_set("maxmemory", 1)
        else:
            own_redis.freeze() if how == "frozen" else own_redis.kill()
        start = time.monotonic()
        for n in range(1, 200):
            await tail.append("ns/j", frames(n))
            assert await tail.read("ns/j", n, MUCH) == []
        await tail.drop("ns/j")
        assert time.monotonic() - start < 3
        own_redis.ensure()
        await client.config_set("maxmemory", 0)
        await tail.close()

    runner.run(told())
