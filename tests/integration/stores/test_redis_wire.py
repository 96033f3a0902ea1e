"""The wire to Redis: commands follow each other, answers find who asked, and a cut ends in errors and a new line."""

import asyncio

import pytest
from redis.asyncio import BlockingConnectionPool
from redis.exceptions import RedisError, ResponseError

from lakeshore_controlplane.store.redis_wire import RedisWire


def on(url, test):
    async def told():
        pool = BlockingConnectionPool.from_url(url, protocol=2)
        wire = RedisWire(pool)
        try:
            async with asyncio.timeout(20):
                await test(wire)
        finally:
            await wire.reset()
            await pool.disconnect()

    asyncio.run(told())


def test_answers_find_who_asked_however_many_ask_at_once(redis_url):
    async def test(wire):
        found = await asyncio.gather(*[wire.command("ECHO", f"{n}" * (n % 400 + 1)) for n in range(1000)])
        assert found == [(f"{n}" * (n % 400 + 1)).encode() for n in range(1000)]

    on(redis_url, test)


def test_a_refused_command_leaves_the_others_their_answers(redis_url):
    async def test(wire):
        asked = [wire.command("SET", "text", "a"), wire.command("INCR", "text"), wire.command("GET", "text")]
        stored, refused, read = await asyncio.gather(*asked, return_exceptions=True)
        assert (stored, read) == (b"OK", b"a")
        assert isinstance(refused, ResponseError)

    on(redis_url, test)


def test_who_gives_up_does_not_take_the_next_ones_answer(redis_url):
    async def test(wire):
        await wire.command("PING")
        slow = asyncio.ensure_future(wire.command("BLPOP", "never", "0.3"))
        await asyncio.sleep(0)
        slow.cancel()
        assert await wire.command("ECHO", "mine") == b"mine"

    on(redis_url, test)


def test_a_cut_is_an_error_for_those_who_wait_and_the_next_command_connects_anew(redis_url):
    async def test(wire):
        number = await wire.command("CLIENT", "ID")
        waiting = asyncio.ensure_future(wire.command("BLPOP", "never", "30"))
        await asyncio.sleep(0)
        other = RedisWire(wire._pool)
        assert await other.command("CLIENT", "KILL", "ID", number) == 1
        await other.reset()
        with pytest.raises((RedisError, OSError)):
            await waiting
        assert await wire.command("ECHO", "again") == b"again"

    on(redis_url, test)


def test_a_script_that_redis_forgot_is_told_again(redis_url):
    async def test(wire):
        text = "return {KEYS[1], ARGV[1]}"
        sha = await wire.command("SCRIPT", "LOAD", text)
        await wire.command("SCRIPT", "FLUSH")
        for _ in range(2):
            assert await wire.script(sha.decode(), text, ["k"], [7]) == [b"k", b"7"]

    on(redis_url, test)
