"""Admission: no queue holds more than its ``max_depth``, whoever submits and whatever crashes."""

import asyncio
import contextlib

import pytest

from hand_clock import HandClock
from lakeshore_controlplane.faults import QueueFull
from lakeshore_controlplane.services.submission import Submitted
from lakeshore_controlplane.store.lane.port import QueueKey
from submitting_replica import Stage, fill, ids_of, item

Q = QueueKey("ns", "q")


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def play(mongo_url, mongo_database, clock):
    return Stage(mongo_url, mongo_database, clock).play


def test_a_queue_without_limits_has_no_admission_document(play):
    async def scenario(one):
        await fill(one, 5)
        return await one.books.read(Q)

    assert play(scenario) is None


def test_a_full_queue_refuses_and_says_when_to_come_back(play):
    async def scenario(one):
        await one.queue(max_depth=3)
        await fill(one, 3)
        with pytest.raises(
            QueueFull, match=r"queue 'q' is full \(max_depth 3\): submit again later"
        ) as refused:
            await one.submit("more", wait_s=5.0)  # on_full is reject: it does not wait
        return refused.value.retry_after_s, await one.count()

    retry_after_s, count = play(scenario)
    assert retry_after_s > 0
    assert count == 3


def test_there_is_room_again_as_soon_as_rows_were_claimed(play):
    async def scenario(one):
        await one.queue(max_depth=3)
        await fill(one, 3)
        for n in range(6):
            await one.claim()
            await one.submit(f"new{n}")
        return await one.count()

    assert play(scenario) == 3


def test_a_queue_that_takes_nothing_is_always_full(play):
    async def scenario(one):
        await one.queue(max_depth=0, on_full="block")
        with pytest.raises(QueueFull, match="max_depth 0"):
            await one.submit("a", wait_s=0.2)

    play(scenario)


def test_rows_from_before_there_was_a_limit_count(play):
    async def scenario(one, other):
        await fill(one, 5)
        await one.queue(max_depth=6)
        other.bells.ring_all()
        assert (await other.submit("a")).id == "a"
        with pytest.raises(QueueFull):
            await one.submit("b")
        return await one.count()

    assert play(scenario, replicas=2) == 6


def test_a_limit_that_was_gone_for_a_while_counts_what_came_meanwhile(play):
    async def scenario(one):
        await one.queue(max_depth=4)
        await fill(one, 2)
        await one.queue()
        await fill(one, 5, "meanwhile")
        await one.queue(max_depth=4)
        with pytest.raises(QueueFull):
            await one.submit("a")

    play(scenario)


def test_repeats_are_answered_by_a_full_queue_and_take_no_room(play):
    async def scenario(one):
        await one.queue(max_depth=3)
        await one.submit("a", key="k")
        for _ in range(5):
            assert (await one.submit("a", key="k")).duplicate
        await fill(one, 2)
        again = await one.submit_many(item("a", key="k"), item("b", key="k"), item("old1"))
        book = await one.books.read(Q)
        return [answer.duplicate for answer in again], book.depth, book.pending

    assert play(scenario) == ([True, True, True], 3, {})


def test_of_a_batch_the_first_ones_that_fit_get_in(play):
    async def scenario(one):
        await one.queue(max_depth=5)
        await fill(one, 2)
        found = await one.submit_many(*(item(f"i{n}") for n in range(6)))
        return found, await one.count()

    found, count = play(scenario)
    assert ids_of(found) == ["i0", "i1", "i2"]
    assert [type(answer) for answer in found[3:]] == [QueueFull] * 3
    assert count == 5


def test_an_atomic_batch_gets_in_whole_or_not_at_all(play):
    async def scenario(one):
        await one.queue(max_depth=5)
        await fill(one, 3)
        with pytest.raises(QueueFull, match="is full"):
            await fill(one, 3, "new")
        with pytest.raises(QueueFull, match=r"6 rows at once are more than queue 'q' holds \(max_depth 5\)"):
            await fill(one, 6, "never")
        assert await one.count() == 3
        await fill(one, 2, "fits")
        return await one.count()

    assert play(scenario) == 5


def test_an_atomic_batch_for_two_queues_leaves_no_reservation_in_the_one_with_room(play):
    async def scenario(one):
        await one.queue("roomy", max_depth=5)
        await one.queue("full", max_depth=1)
        await one.submit("old", queue="full")
        with pytest.raises(QueueFull, match="'full'"):
            await one.submit_many(item("a", queue="roomy"), item("b", queue="full"), atomic=True)
        return await one.books.read(QueueKey("ns", "roomy")), await one.count("roomy")

    book, count = play(scenario)
    assert (book.depth, book.pending, count) == (0, {}, 0)


def test_max_depth_holds_under_100_submitters_of_two_replicas_while_rows_are_claimed(play):
    async def scenario(one, other):
        await one.queue(max_depth=10)
        deepest = 0
        done = asyncio.Event()

        async def look():
            nonlocal deepest
            while not done.is_set():
                deepest = max(deepest, await one.count())

        async def work():
            claimed = []
            while not done.is_set():
                claimed += await other.claim()
            return claimed

        async def push(n):
            for _ in range(200):
                with contextlib.suppress(QueueFull):
                    return (await (one, other)[n % 2].submit(f"i{n}")).id
            raise AssertionError(f"i{n} was refused 200 times")

        looking, working = asyncio.create_task(look()), asyncio.create_task(work())
        stored = await asyncio.gather(*map(push, range(100)))
        done.set()
        await looking
        claimed = await working
        return deepest, sorted(stored), len(claimed) + await one.count()

    deepest, stored, total = play(scenario, replicas=2)
    assert 1 <= deepest <= 10
    assert stored == sorted(f"i{n}" for n in range(100))
    assert total == 100


def test_100_submitters_at_once_fill_an_idle_queue_exactly(play):
    async def scenario(one, other):
        await one.queue(max_depth=10)
        found = await asyncio.gather(
            *((one, other)[n % 2].submit(f"i{n}") for n in range(100)), return_exceptions=True
        )
        return found, await one.count(), await one.books.read(Q)

    found, count, book = play(scenario, replicas=2)
    assert len(ids_of(found)) == 10
    assert {type(answer) for answer in found} == {Submitted, QueueFull}
    assert (count, book.depth, book.pending) == (10, 10, {})


def test_rows_that_are_queued_again_are_never_refused_and_take_their_room(play):
    async def scenario(one):
        await one.queue(max_depth=2)
        await fill(one, 2)
        await one.claim()
        await one.submit("new")  # recounted: two are queued
        rows = one.database.collection("invocations")
        await one.admission.returning(Q, 1)
        await rows.update_one({"_id": "ns/old0"}, {"$set": {"state": "queued"}})
        assert await one.count() == 3
        await one.claim()
        with pytest.raises(QueueFull):
            await one.submit("more")
        return await one.count()

    assert play(scenario) == 2
