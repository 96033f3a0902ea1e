"""Rate limits: so many rows a second, shared by all replicas."""

import asyncio

import pytest

from hand_clock import HandClock
from lakeshore_controlplane.faults import QueueFull, RateLimited
from lakeshore_controlplane.services.submission import Submitted
from lakeshore_controlplane.store.lane.port import QueueKey
from submitting_replica import Stage, item

Q = QueueKey("ns", "q")


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def play(mongo_url, mongo_database, clock):
    return Stage(mongo_url, mongo_database, clock).play


def test_a_burst_gets_in_and_then_the_rate(play, clock):
    async def scenario(one):
        await one.queue(rate_limit={"rate": 2.0, "burst": 3})
        for n in range(3):
            await one.submit(f"burst{n}")
        with pytest.raises(RateLimited, match="queue 'q' takes 2 a second and has had them") as refused:
            await one.submit("a")
        assert refused.value.retry_after_s == pytest.approx(0.5, abs=1e-3)
        clock.advance(0.5)
        await one.submit("a")
        with pytest.raises(RateLimited):
            await one.submit("b")
        clock.advance(100.0)
        found = await one.submit_many(*(item(f"i{n}") for n in range(5)))
        return [type(answer) for answer in found]

    assert play(scenario) == [Submitted] * 3 + [RateLimited] * 2


def test_replicas_share_the_rate(play):
    async def scenario(one, other):
        await one.queue(rate_limit={"rate": 1.0, "burst": 10})
        found = await asyncio.gather(
            *((one, other)[n % 2].submit(f"i{n}") for n in range(40)), return_exceptions=True
        )
        return sum(isinstance(answer, Submitted) for answer in found)

    assert play(scenario, replicas=2) == 10


def test_repeats_are_answered_and_use_up_no_rate(play):
    async def scenario(one):
        await one.queue(rate_limit={"rate": 1.0, "burst": 2})
        await one.submit("a")
        for _ in range(5):
            assert (await one.submit("a")).duplicate
        await one.submit("b")
        with pytest.raises(RateLimited):
            await one.submit("c")
        return (await one.submit("a")).duplicate

    assert play(scenario) is True


def test_an_atomic_batch_above_the_burst_is_told_to_be_smaller(play):
    async def scenario(one):
        await one.queue(rate_limit={"rate": 1.0, "burst": 2})
        with pytest.raises(QueueFull, match=r"3 rows at once are more than the burst of queue 'q' \(2\)"):
            await one.submit_many(*(item(f"i{n}") for n in range(3)), atomic=True)
        await one.submit_many(item("a"), item("b"), atomic=True)
        with pytest.raises(RateLimited, match="has had them") as refused:
            await one.submit_many(item("c"), item("d"), atomic=True)
        return refused.value.retry_after_s

    assert play(scenario) == pytest.approx(2.0, abs=1e-3)


def test_what_a_full_queue_refuses_uses_up_no_rate(play):
    async def scenario(one):
        await one.queue(max_depth=1, rate_limit={"rate": 1.0, "burst": 2})
        await one.submit("a")
        for n in range(3):
            with pytest.raises(QueueFull):
                await one.submit(f"b{n}")
        await one.claim()
        await one.submit("c")
        await one.claim()
        with pytest.raises(RateLimited):
            await one.submit("d")

    play(scenario)


def test_a_blocking_queue_lets_its_submitter_wait_for_the_rate(play, clock):
    async def scenario(one):
        await one.queue(on_full="block", rate_limit={"rate": 10.0, "burst": 1})
        await one.submit("a")
        waiting = asyncio.create_task(one.submit("b", wait_s=10.0))
        await asyncio.wait([waiting], timeout=0.15)
        clock.advance(0.1)
        return await asyncio.wait_for(waiting, 5.0)

    assert play(scenario) == Submitted("b", "q")


def test_one_who_could_only_wait_in_vain_is_told_at_once(play):
    async def scenario(one):
        await one.queue(on_full="block", rate_limit={"rate": 0.01, "burst": 1})
        await one.submit("a")
        began = asyncio.get_running_loop().time()
        with pytest.raises(RateLimited) as refused:
            await one.submit("b", wait_s=20.0)
        return refused.value.retry_after_s, asyncio.get_running_loop().time() - began

    retry_after_s, took = play(scenario)
    assert retry_after_s == pytest.approx(100.0, abs=0.1)
    assert took < 10.0


def test_the_limit_survives_that_every_replica_starts_anew(play, mongo_url, mongo_database, clock):
    async def use_up(one):
        await one.queue(rate_limit={"rate": 1.0, "burst": 1})
        await one.submit("a")

    async def ask_again(one):
        with pytest.raises(RateLimited):
            await one.submit("b")

    play(use_up)
    play(ask_again)
