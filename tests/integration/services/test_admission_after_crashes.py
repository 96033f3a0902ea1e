"""What a crash in the middle of a submission leaves of a queue's room."""

import contextlib

import pytest

from hand_clock import HandClock
from lakeshore_controlplane.faults import QueueFull
from lakeshore_controlplane.store.lane.port import QueueKey
from submitting_replica import Stage, item

Q = QueueKey("ns", "q")


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def play(mongo_url, mongo_database, clock):
    return Stage(mongo_url, mongo_database, clock).play


async def crash_after_reservation(replica, *ids):
    """Do what a submission does until just before its rows are inserted."""

    class Crash(Exception):
        pass

    async def insert(rows):
        raise Crash

    async def settle(grant, used):
        raise Crash

    replica.rows.insert, replica.admission.settle = insert, settle
    with pytest.raises(Crash):
        await replica.submit_many(*map(item, ids))
    del replica.rows.insert, replica.admission.settle


async def crash_after_insert(replica, *ids):
    """Do what a submission does until just before its reservation is settled."""

    class Crash(Exception):
        pass

    async def settle(grant, used):
        raise Crash

    replica.admission.settle = settle
    with pytest.raises(Crash):
        await replica.submit_many(*map(item, ids))
    del replica.admission.settle


def test_a_crash_after_the_reservation_gives_its_room_back_in_a_minute(play, clock):
    async def scenario(one, other):
        await one.queue(max_depth=3)
        await crash_after_reservation(one, "a", "b")
        await other.submit("c")
        with pytest.raises(QueueFull):  # the two may still come
            await other.submit("d")
        clock.advance(61.0)
        await other.submit_many(item("d"), item("e"), atomic=True)
        with pytest.raises(QueueFull):
            await other.submit("f")
        return await one.count(), (await one.books.read(Q)).pending

    assert play(scenario, replicas=2) == (3, {})


def test_a_crash_after_the_insert_counts_each_row_once(play, clock):
    async def scenario(one, other):
        await one.queue(max_depth=3)
        await crash_after_insert(one, "a", "b")
        await other.submit("c")
        with pytest.raises(QueueFull):
            await other.submit("d")
        assert (await other.submit("a")).duplicate  # the client repeats what was not answered
        clock.advance(61.0)
        with pytest.raises(QueueFull):
            await other.submit("d")
        await other.claim(2)
        await other.submit_many(item("d"), item("e"), atomic=True)
        return await one.count(), (await one.books.read(Q)).pending

    assert play(scenario, replicas=2) == (3, {})


def test_a_replica_that_was_frozen_for_longer_than_a_minute_is_counted_again(play, clock):
    async def scenario(one, other):
        await one.queue(max_depth=3)
        insert = one.rows.insert

        async def freeze(rows):
            clock.advance(61.0)
            await other.submit_many(*(item(f"o{n}") for n in range(2)), atomic=True)
            with contextlib.suppress(QueueFull):
                await other.submit_many(item("x"), item("y"), atomic=True)  # recounts
            return await insert(rows)

        one.rows.insert = freeze
        await one.submit("late")
        with pytest.raises(QueueFull):
            await other.submit("z")
        return await one.count()

    assert play(scenario, replicas=2) == 3
