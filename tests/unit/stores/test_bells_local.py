"""Bells within one process: who listens hears every ring, in bounded memory."""

import asyncio
import tracemalloc

import pytest

from lakeshore_controlplane.store.bells.listener import PENDING_BYTES, PENDING_PAYLOADS
from lakeshore_controlplane.store.bells.local import PAYLOAD_LIMIT, LocalBells
from lakeshore_controlplane.store.bells.outgoing import Outgoing, parse_message
from lakeshore_controlplane.store.bells.port import Ring


def test_a_ring_between_two_waits_is_heard(runner):
    async def told():
        bells = LocalBells()
        listener = bells.subscribe("work:q")
        bells.ring([Ring("work:q"), Ring("work:other")])
        assert await listener.wait(5)
        assert not await listener.wait(0.01)
        assert not await listener.wait(0)

    runner.run(told())


def test_a_ring_wakes_who_waits_at_once(runner):
    async def told():
        bells = LocalBells()
        listeners = [bells.subscribe("done") for _ in range(3)]
        waits = [asyncio.create_task(one.wait(30)) for one in listeners]
        await asyncio.sleep(0)
        bells.ring([Ring("done", b"x")])
        async with asyncio.timeout(1):
            assert await asyncio.gather(*waits) == [True] * 3
        assert [one.payloads() for one in listeners] == [[b"x"]] * 3
        assert listeners[0].payloads() == []

    runner.run(told())


def test_a_wait_that_is_cancelled_as_the_bell_rings_leaves_the_ring_for_the_next(runner):
    async def told():
        bells = LocalBells()
        listener = bells.subscribe("t")
        wait = asyncio.create_task(listener.wait(30))
        await asyncio.sleep(0)
        bells.ring([Ring("t")])
        wait.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wait
        assert await listener.wait(0)

    runner.run(told())


def test_a_second_waiter_on_one_subscription_is_told_so(runner):
    async def told():
        listener = LocalBells().subscribe("t")
        first = asyncio.create_task(listener.wait(30))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one for each waiter"):
            await listener.wait(1)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

    runner.run(told())


def test_those_who_left_hear_nothing_and_the_others_everything():
    bells = LocalBells()
    listeners = [bells.subscribe("t") for _ in range(10)]
    for one in (*listeners[::3], listeners[0]):
        one.close()
    bells.ring([Ring("t", b"x")])
    assert [bool(one.payloads()) for one in listeners] == [n % 3 != 0 for n in range(10)]
    for one in listeners:
        one.close()
    assert not bells._listeners


def test_a_listener_that_does_not_look_is_told_to_look_at_the_rows():
    bells = LocalBells()
    small, large = bells.subscribe("small"), bells.subscribe("large")
    for n in range(3 * PENDING_PAYLOADS):
        bells.ring([Ring("small", b"%d" % n), Ring("large", bytes(PAYLOAD_LIMIT))])
    heard = small.payloads()
    assert len(heard) <= PENDING_PAYLOADS
    assert heard[0] == b""
    assert heard[-1] == b"%d" % (3 * PENDING_PAYLOADS - 1)
    heard = large.payloads()
    assert heard[0] == b""
    assert sum(map(len, heard)) <= PENDING_BYTES


def test_a_payload_above_the_limit_is_left_out():
    bells = LocalBells()
    listener = bells.subscribe("t")
    bells.ring([Ring("t", bytes(PAYLOAD_LIMIT + 1))])
    assert listener.payloads() == [b""]


def test_a_cursor_moves_with_its_topic_only():
    bells = LocalBells()
    before = bells.cursor("a")
    assert not bells.moved("a", before)
    bells.ring([Ring("a")])
    assert bells.moved("a", before)
    assert not bells.moved("b", before)
    assert not bells.moved("a", bells.cursor("a"))


@pytest.mark.parametrize(
    "cursor", ["", ".", "5", "other.5", "{0}.", "{0}.-1", "{0}.x", "{0}.\u0663", "{0}." + "9" * 5000]
)
def test_a_cursor_that_this_replica_does_not_know_has_moved(cursor):
    bells = LocalBells()
    generation = bells.cursor("a").split(".")[0]
    assert bells.moved("a", cursor.format(generation))


def test_topics_that_were_forgotten_count_as_moved_for_old_cursors_only():
    bells = LocalBells(remembered=10)
    old = bells.cursor("a")
    bells.ring([Ring("a")])
    bells.ring([Ring(f"t{n}") for n in range(10)])
    assert bells.moved("a", old)
    assert bells.moved("never", old)
    assert not bells.moved("a", bells.cursor("a"))


def test_ring_all_wakes_everybody_and_moves_every_cursor(runner):
    async def told():
        bells = LocalBells()
        listener, before = bells.subscribe("t"), bells.cursor("u")
        bells.ring_all()
        assert await listener.wait(5)
        assert bells.moved("u", before)
        assert not bells.moved("u", bells.cursor("u"))

    runner.run(told())


@pytest.mark.parametrize("topics", [1, 10_000])
def test_ten_thousand_subscriptions_cost_little(topics):
    bells = LocalBells()
    names = [f"journal:default/{n}" for n in range(topics)]
    bells.subscribe("warm up").close()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        listeners = [bells.subscribe(names[n % topics]) for n in range(10_000)]
        each = (tracemalloc.get_traced_memory()[0] - before) / 10_000
    finally:
        tracemalloc.stop()
    assert each < 250, f"{each:.0f} bytes a subscription"
    for one in listeners:
        one.close()


def test_outgoing_rings_lose_their_payloads_first_and_their_names_last():
    outgoing = Outgoing(limit_bytes=10_000)
    outgoing.add([Ring("a", b"1"), Ring("b", b"2"), Ring("c", bytes(PAYLOAD_LIMIT + 1))])
    assert parse_message(outgoing.take()) == [("a", b"1"), ("b", b"2"), ("c", b"")]
    assert not outgoing
    outgoing.add([Ring("a", bytes(4000)), Ring("b", b"2"), Ring("a", bytes(4000)), Ring("a", bytes(4000))])
    assert parse_message(outgoing.take()) == [("a", b""), ("b", b"")]
    outgoing.add(Ring(f"topic-{n}") for n in range(10_000))
    assert parse_message(outgoing.take()) == [("", b"")]
    outgoing.add([Ring("a", b"1")])
    assert parse_message(outgoing.take()) == [("a", b"1")]


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x05", b"\x91\x05", b"\x91\x92\x05\x05", b"\x91\x92\xa1a\xa1b", b"x" * 99]
)
def test_a_message_that_is_none_rings_everything(data):
    assert parse_message(data) == [("", b"")]
