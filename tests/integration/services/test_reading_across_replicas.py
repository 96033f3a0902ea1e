"""A writer on one replica, a reader on another: no frame is lost or doubled, with Redis, without it, and as it goes."""

import asyncio
import resource

import pytest

from lakeshore_controlplane.store.bells.port import Ring
from waiting_replica import LIMIT_S, Stage, until, waits


@pytest.fixture
def play(mongo_url, mongo_database, redis_url):
    return Stage(mongo_url, mongo_database, redis_url)


async def write(replica, count, *, first=0, final=True, step=20, between=None, size=20):
    """Frames of a stream up to ``count`` in small batches, fenced as a worker's."""
    for start in range(first, count, step):
        if between is not None:
            await between(start)
        frames = [
            (seq, b"%d " % seq + bytes(size), final and seq == count - 1)
            for seq in range(start, start + step)
        ]
        await replica.journals.append("ns", "a", frames, worker_id="w")


async def begin(replica):
    await replica.submit("a")
    await replica.claim("a")


def seqs_of(found):
    return [int(data.split()[0]) for _, data in found]


def test_a_reader_elsewhere_gets_each_frame_once(play):
    async def scenario(one, two):
        await begin(one)
        reading = asyncio.create_task(two.follow("a"))
        await write(one, 1000)
        return await reading

    found, missing = play(scenario)
    assert [seq for seq, _ in found] == seqs_of(found) == list(range(1000))
    assert missing is None


def test_a_reader_elsewhere_is_woken_at_once(play):
    async def scenario(one, two):
        await until(lambda: not two.bells.degraded)
        reading = asyncio.create_task(two.reading.read("ns", "j", timeout_s=LIMIT_S))
        await waits(two, "journal:ns/j")
        async with asyncio.timeout(3):  # less than the pause between looks
            await one.append("j", 0)
            return (await reading).entries

    assert play(scenario) == [(0, b"0")]


def test_a_reader_goes_on_by_its_cursor_on_another_replica(play):
    async def scenario(one, two, three):
        await begin(one)
        writing = asyncio.create_task(write(one, 600))
        found = []
        while len(found) < 200:
            since = found[-1][0] if found else -1
            batch = await two.reading.read("ns", "a", since=since, timeout_s=LIMIT_S, max_bytes=1000)
            found += batch.entries
        two.stop()
        await two.close()
        rest, missing = await three.follow("a", since=found[-1][0])
        await writing
        return found + rest, missing

    found, missing = play(scenario)
    assert [seq for seq, _ in found] == list(range(600))
    assert missing is None


def test_frames_pass_while_redis_dies_and_comes_back(play, lane_server):
    async def scenario(one, two):
        await begin(one)
        reading = asyncio.create_task(two.follow("a"))

        async def between(start):
            if start == 200:
                await asyncio.to_thread(lane_server.kill)
            if start == 600:
                await asyncio.to_thread(lane_server.start)

        await write(one, 1000, between=between)
        return await reading

    found, missing = play(scenario)
    assert [seq for seq, _ in found] == list(range(1000))
    assert missing is None


def test_ends_and_frames_are_found_without_redis(play, lane_server):
    async def scenario(one, two):
        await begin(one)
        await asyncio.to_thread(lane_server.kill)
        await until(lambda: two.bells.degraded)
        reading = asyncio.create_task(two.reading.read("ns", "a", timeout_s=LIMIT_S))
        await waits(two, "journal:ns/a")
        await one.append("a", 0)
        first = await reading
        waiting = asyncio.create_task(two.awaiting.outcome("ns", "a", timeout_s=LIMIT_S))
        following = asyncio.create_task(two.follow("a", since=0))
        await waits(two, "done:ns")
        await one.end("a")
        async with asyncio.timeout(4):
            return first.entries, (await waiting).result, await following

    assert play(scenario) == ([(0, b"0")], b"r", ([], None))


def test_report_31_streaming_without_redis_takes_no_more_memory_the_longer_it_lasts(play, lane_server):
    """What an hour of streaming rings, in as many batches, while nobody carries the bells."""

    async def scenario(one, two):
        await begin(one)
        await asyncio.to_thread(lane_server.kill)
        await until(lambda: one.bells.degraded and two.bells.degraded)
        reading = asyncio.create_task(two.follow("a", max_bytes=256 << 10))
        await write(one, 10_000, final=False, step=500, size=1000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(360_000):  # an hour at a hundred a second
            one.bells.ring([Ring(f"journal:ns/{number % 5000}", b""), Ring("done:ns", b"x" * 100)])
            if number % 1000 == 0:
                await one.append("b", number // 1000)
        await write(one, 20_000, first=10_000, step=500, size=1000)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await asyncio.to_thread(lane_server.start)
        found, missing = await reading
        await until(lambda: not two.bells.degraded)
        return (after - before) >> 10, [seq for seq, _ in found], missing

    grown_mib, seqs, missing = play(scenario)
    assert seqs == list(range(20_000))
    assert missing is None
    assert grown_mib < 100
