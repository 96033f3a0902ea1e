"""Reading journals: gapless, in order, to the end of the journal or of its invocation."""

import asyncio
import time
import tracemalloc

import pytest

from lakeshore_controlplane.faults import NotFound
from lakeshore_controlplane.services.reading import Batch
from waiting_replica import LIMIT_S, Stage, waits


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database)


async def gather_stream(pieces):
    return b"".join([piece async for piece in pieces])


def test_nothing_is_served_past_a_gap_until_it_is_filled(play):
    async def scenario(one):
        await one.append("j", 0)
        await one.append("j", 2, final=True)
        before = [await one.reading.read("ns", "j", since=since) for since in (-1, 0)]
        await one.append("j", 1)
        return before, await one.follow("j")

    before, after = play(scenario)
    assert before == [Batch([(0, b"0")]), Batch([], done=True, missing=1)]
    assert after == ([(0, b"0"), (1, b"1"), (2, b"2")], None)


def test_a_gap_in_a_journal_that_goes_on_is_waited_for(play):
    async def scenario(one):
        await one.append("j", 1)
        assert await one.reading.read("ns", "j", timeout_s=0.05) == Batch([])
        reading = asyncio.create_task(one.reading.read("ns", "j", timeout_s=LIMIT_S))
        await waits(one, "journal:ns/j")
        await one.append("j", 0)
        return (await reading).entries

    assert play(scenario) == [(0, b"0"), (1, b"1")]


def test_a_read_is_answered_as_soon_as_a_frame_comes(play):
    async def scenario(one):
        reading = asyncio.create_task(one.reading.read("ns", "j", timeout_s=LIMIT_S))
        await waits(one, "journal:ns/j")
        began = time.monotonic()
        await one.append("j", 0)
        return (await reading).entries, time.monotonic() - began < 2

    assert play(scenario) == ([(0, b"0")], True)


@pytest.mark.parametrize("journal", ["a", "log:a"])
def test_the_end_of_the_invocation_ends_its_journals(play, journal):
    async def scenario(one):
        await one.submit("a")
        await one.claim("a")
        await one.append(journal, 0)
        assert await one.reading.read("ns", journal, since=0) == Batch([], state="running")
        reading = asyncio.create_task(one.reading.read("ns", journal, since=0, timeout_s=LIMIT_S))
        await waits(one, "journal:ns/a")
        await one.end("a")
        return await reading, await one.follow(journal)

    ended, all_of_it = play(scenario)
    assert ended == Batch([], done=True, state="succeeded")
    assert all_of_it == ([(0, b"0")], None)


def test_report_34_a_frame_that_was_dropped_is_named_when_the_invocation_has_ended(play):
    async def scenario(one):
        await one.submit("a")
        await one.claim("a")
        await one.append("a", 0, 1, 4)
        await one.end("a", state="failed")
        found, missing = await one.follow("a")
        stream = await gather_stream(await one.reading.stream("ns", "a"))
        return [seq for seq, _ in found], missing, stream

    assert play(scenario) == ([0, 1], 2, b"01")


def test_a_cursor_behind_the_end_is_the_end(play):
    async def scenario(one):
        await one.append("j", 0, 1, final=True)
        return await one.reading.read("ns", "j", since=1), await one.reading.read("ns", "j", since=99)

    assert play(scenario) == (Batch([], done=True), Batch([], done=True))


def test_a_long_journal_is_read_in_batches_of_the_size_asked_for(play):
    async def scenario(one):
        for start in range(0, 5000, 1000):
            frames = [(seq, b"%0100d" % seq, seq == 4999) for seq in range(start, start + 1000)]
            await one.journals.append("ns", "j", frames)
        await one.tail.drop("ns/j")
        first = await one.reading.read("ns", "j", max_bytes=1000)
        tiny = await one.reading.read("ns", "j", since=7, max_bytes=1)
        found, missing = await one.follow("j")
        return len(first.entries), tiny.entries[0][0], len(tiny.entries), found, missing

    count, seq, tiny, found, missing = play(scenario)
    assert 1 <= count <= 10
    assert (seq, tiny) == (8, 1)
    assert found == [(seq, b"%0100d" % seq) for seq in range(5000)]
    assert missing is None


def test_a_stream_replays_and_then_goes_on_live(play):
    async def scenario(one):
        await one.submit("a")
        await one.claim("a")
        await one.append("a", 0, 1, 2)
        pieces = await one.reading.stream("ns", "a", since=0)
        assert await anext(pieces) == b"12"
        following = asyncio.create_task(gather_stream(pieces))
        for seq in range(3, 20):
            await waits(one, "journal:ns/a")
            await one.append("a", seq, final=seq == 19)
        return await following

    assert play(scenario) == b"".join(b"%d" % seq for seq in range(3, 20))


def test_a_stream_of_nobody_knows_whom_is_not_found(play):
    async def scenario(one):
        await one.submit("theirs", namespace="other")
        await one.append("theirs", 0, namespace="other")
        for inv_id in ("unknown", "theirs"):
            with pytest.raises(NotFound, match=f"no invocation {inv_id} on this plane"):
                await one.reading.stream("ns", inv_id)
        return await one.seqs("theirs")

    assert play(scenario) == []


def test_a_stream_ends_when_nothing_comes_for_its_timeout(play):
    async def scenario(one):
        await one.submit("a")
        await one.append("a", 0)
        return await gather_stream(await one.reading.stream("ns", "a", timeout_s=0.05))

    assert play(scenario) == b"0"


def test_a_slow_reader_of_a_long_stream_takes_little_memory(play):
    async def scenario(one):
        await one.submit("a")
        for start in range(0, 640, 64):
            await one.journals.append(
                "ns", "a", [(seq, bytes(64 << 10), False) for seq in range(start, start + 64)]
            )
        await one.end("a")
        tracemalloc.start()
        size = largest = 0
        async for piece in await one.reading.stream("ns", "a"):
            size += len(piece)
            largest = max(largest, len(piece))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size, largest, peak

    size, largest, peak = play(scenario)
    assert size == 640 * (64 << 10)
    assert largest <= 512 << 10
    assert peak < 40 << 20  # one reply of the database holds up to 16 MiB, the whole stream is 40 MiB


def test_a_replica_that_stops_answers_its_readers(play):
    async def scenario(one):
        await one.submit("a")
        await one.append("a", 0)
        stream = asyncio.create_task(gather_stream(await one.reading.stream("ns", "a")))
        reads = [
            asyncio.create_task(one.reading.read("ns", name, timeout_s=LIMIT_S)) for name in ("j", "log:a")
        ]
        for topic in ("journal:ns/a", "journal:ns/j", "journal:ns/log:a"):
            await waits(one, topic)
        began = time.monotonic()
        one.stop()
        answers = [await read for read in reads]
        return await stream, answers, time.monotonic() - began < 3

    assert play(scenario) == (b"0", [Batch([]), Batch([], state="queued")], True)
