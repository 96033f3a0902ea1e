"""Replicas hear each other's bells through Redis; without it each hears its own, and says that it is degraded."""

import asyncio
import tracemalloc

import pytest

from lakeshore_controlplane.store.bells.port import Ring
from lakeshore_controlplane.store.bells.redis import RedisBells
from lakeshore_controlplane.store.redis_link import RedisLink
from lakeshore_controlplane.store.tail.redis import RedisTail


def link(server):
    return RedisLink(server.url, connections=4, connect_s=0.3, call_s=0.5, rest_s=0.2)


@pytest.fixture
def replicas(own_redis, runner):
    async def opened():
        both = [RedisBells(link(own_redis)) for _ in range(2)]
        for bells in both:
            await bells.start()
            assert not bells.degraded
        return both

    both = runner.run(opened())
    yield both
    for bells in both:
        runner.run(bells.close())


async def until(condition, limit_s=15):
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - what is waited for rings no bell
            await asyncio.sleep(0.02)


def test_a_ring_is_heard_once_here_and_soon_there(replicas, runner):
    async def told():
        here, there = replicas
        mine, theirs = here.subscribe("work:q"), there.subscribe("work:q")
        before = there.cursor("work:q")
        here.ring([Ring("work:q", b"1"), Ring("work:other")])
        assert await mine.wait(0)
        assert await theirs.wait(5)
        assert (mine.payloads(), theirs.payloads()) == ([b"1"], [b"1"])
        assert there.moved("work:q", before)
        there.ring([Ring("work:q", b"2")])
        assert await mine.wait(5)
        assert mine.payloads() == [b"2"], "its own echo was not heard"

    runner.run(told())


def test_rings_of_one_turn_are_one_message_in_order(replicas, own_redis, runner):
    async def told():
        here, there = replicas
        watch = link(own_redis)
        before = (await watch.client.info("commandstats")).get("cmdstat_publish", {"calls": 0})["calls"]
        theirs = there.subscribe("t")
        for n in range(500):
            here.ring([Ring("t", b"%d" % n)])
        heard = []
        async with asyncio.timeout(5):
            while len(heard) < 500:
                await theirs.wait(1)
                heard += theirs.payloads()
        assert heard == [b"%d" % n for n in range(500)]
        assert (await watch.client.info("commandstats"))["cmdstat_publish"]["calls"] - before <= 3
        await watch.close()

    runner.run(told())


def test_topics_of_any_text_are_carried(replicas, runner):
    async def told():
        here, there = replicas
        topic = "journal:ns/\u00fc \ud800 {x}*"
        theirs = there.subscribe(topic)
        here.ring([Ring(topic)])
        assert await theirs.wait(5)

    runner.run(told())


@pytest.mark.parametrize("how", ["stopped", "frozen"])
def test_an_outage_is_known_harms_nothing_here_and_ends_with_a_ring_for_all(replicas, own_redis, runner, how):
    async def told():
        here, there = replicas
        mine, theirs = here.subscribe("t"), there.subscribe("t")
        cursor = there.cursor("t")
        own_redis.freeze() if how == "frozen" else own_redis.kill()
        await until(lambda: here.degraded and there.degraded)
        here.ring([Ring("t", b"1")])
        assert await mine.wait(0)
        assert not await theirs.wait(0)
        own_redis.ensure()
        await until(lambda: not here.degraded and not there.degraded)
        assert await theirs.wait(5)
        assert theirs.payloads()[0] == b""
        assert there.moved("t", cursor)
        # And what was rung while nobody could hear is made up for, even if only the way out had failed.
        here.ring([Ring("t", b"2")])
        async with asyncio.timeout(10):
            while not {b"", b"2"} & set(theirs.payloads()):
                await theirs.wait(1)

    runner.run(told())


def test_what_is_rung_as_a_replica_stops_is_still_heard(replicas, runner):
    async def told():
        here, there = replicas
        theirs = there.subscribe("t")
        here.ring([Ring("t", b"last")])
        await here.close()
        assert await theirs.wait(5)

    runner.run(told())


def test_bells_begin_without_redis_and_find_it_later(own_redis, runner):
    async def told():
        own_redis.kill()
        bells = RedisBells(link(own_redis))
        try:
            async with asyncio.timeout(3):
                await bells.start()
            assert bells.degraded
            own_redis.start()
            await until(lambda: not bells.degraded)
        finally:
            await bells.close()

    runner.run(told())


def test_report_31_memory_stays_bounded_while_redis_is_away_under_streaming(replicas, own_redis, runner):
    async def told():
        here, _ = replicas
        tail = RedisTail(link(own_redis))
        listener = here.subscribe("journal:ns/1")
        own_redis.kill()
        await until(lambda: here.degraded)
        tracemalloc.start()
        try:
            for n in range(60_000):
                data = n.to_bytes(4) * 1000
                here.ring([Ring("journal:ns/1", data), Ring(f"journal:ns/{n}", data)])
                if not n % 20:
                    await tail.append("ns/1", [(n, data)])
                    await asyncio.sleep(0)  # let the others have their turn
            grown, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # 60,000 x 8 kB were rung. What may stay: 100,000 topics' numbers, one heap of 4 MiB, one listener's payloads.
        assert peak < 40_000_000, f"{grown} bytes, {peak} at most"
        assert listener.payloads()[0] == b""
        await tail.close()

    runner.run(told())
