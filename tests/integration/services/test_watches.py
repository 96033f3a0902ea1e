"""Watches: each end is told once for as often as it is asked for, and again when its answer was lost."""

import asyncio

import pytest

from lakeshore_controlplane.faults import BadRequest, RateLimited
from waiting_replica import LIMIT_S, Stage, until


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database)


def ids(told):
    return sorted(outcome.id for outcome in told.ended)


async def ask(one, *names, watch="watch", **options):
    return await one.watches.wait("ns", watch, names, **options)


def test_ends_before_and_after_adding_are_told_once(play):
    async def scenario(one):
        await one.submit("a", "b", "other")
        await one.end("a", "other")
        first = await ask(one, "a", "b", timeout_s=LIMIT_S)
        await one.end("b")
        second = await ask(one, timeout_s=LIMIT_S)
        third = await ask(one)
        return [(told.known, ids(told), told.number, told.more) for told in (first, second, third)]

    assert play(scenario) == [(False, ["a"], 1, False), (True, ["b"], 2, False), (True, [], 2, False)]


def test_one_that_nobody_submitted_yet_is_watched_on(play):
    async def scenario(one):
        assert ids(await ask(one, "later", timeout_s=0.01)) == []
        waiting = asyncio.create_task(ask(one, timeout_s=LIMIT_S))
        await one.submit("later")
        await one.end("later")
        return ids(await waiting)

    assert play(scenario) == ["later"]


def test_one_that_was_told_and_is_added_again_is_told_again(play):
    async def scenario(one):
        await one.submit("a")
        await one.end("a")
        return [ids(await ask(one, "a")), ids(await ask(one)), ids(await ask(one, "a"))]

    assert play(scenario) == [["a"], [], ["a"]]


def test_an_answer_that_was_lost_is_told_again_to_who_counts_answers(play):
    async def scenario(one):
        await one.submit("a", "b", "c")
        await one.end("a")
        told = [await ask(one, "a", "b", "c", ack=0)]
        await one.end("b")
        told.append(await ask(one, ack=0))  # the first answer never came
        told.append(await ask(one, ack=told[-1].number))
        await one.end("c")
        told.append(await ask(one, ack=told[-1].number))
        return [ids(item) for item in told]

    assert play(scenario) == [["a"], ["a", "b"], [], ["c"]]


def test_of_two_requests_at_once_the_later_one_is_told(play):
    async def scenario(one):
        await one.submit("a")
        earlier = asyncio.create_task(ask(one, "a", timeout_s=LIMIT_S))
        await until(lambda: one.watches._watches and one.watches._watches["ns", "watch"].wake)
        later = asyncio.create_task(ask(one, "a", timeout_s=LIMIT_S))
        first = await earlier
        await one.end("a")
        return ids(first), ids(await later)

    assert play(scenario) == ([], ["a"])


def test_who_does_not_wait_is_told_of_all_that_ended(play):
    async def scenario(one):
        await one.submit("waiting", "b", "a", "c")
        await ask(one, "a", "b", "c", "waiting")
        await one.end("b")
        await one.end("a", result=b"x" * 10_000)
        await one.end("c", state="failed", error={"type": "E", "message": "m"})
        first = await ask(one)
        again = await ask(one, *"abc", watch="second")
        return sorted(ids(first)), sorted(ids(again)), ids(await ask(one))

    assert play(scenario) == (["a", "b", "c"], ["a", "b", "c"], [])


def test_watches_of_one_name_in_two_namespaces_keep_apart(play):
    async def scenario(one):
        await one.submit("a")
        await one.submit("a", namespace="n2")
        await ask(one, "a")
        await one.watches.wait("n2", "watch", ["a"])
        await one.end("a", namespace="n2")
        return ids(await ask(one)), ids(await one.watches.wait("n2", "watch", [], timeout_s=LIMIT_S))

    assert play(scenario) == ([], ["a"])


def test_a_watch_that_nobody_asks_for_is_forgotten(play):
    async def scenario(one):
        await one.submit("a")
        await ask(one, "a")
        play.clock.advance(119)
        kept = (await ask(one)).known
        play.clock.advance(121)
        told = await ask(one)
        return kept, told.known, one.finishers._halls["ns"].waiting

    assert play(scenario) == (True, False, {})


def test_too_many_ids_are_refused_with_what_to_do(play):
    async def scenario(one):
        await ask(one, *"abc")
        with pytest.raises(BadRequest, match="a watch holds at most 3 invocations"):
            await ask(one, "d")
        await ask(one, "a", "b", watch="second")
        with pytest.raises(RateLimited) as refused:
            await ask(one, "c", watch="second")
        assert refused.value.retry_after_s
        await one.submit("a")
        await one.end("a")
        assert ids(await ask(one, timeout_s=LIMIT_S)) == ["a"]
        return ids(await ask(one, "d"))

    assert play(scenario, per_watch=3, in_all=5) == []


def test_results_that_are_too_many_to_keep_are_told_in_parts(play):
    names = [f"i{number:03d}" for number in range(30)]

    async def scenario(one):
        await one.submit(*names)
        await ask(one, *names)
        for name in names:
            await one.end(name, result=name.encode() * (256 << 10))
        await until(lambda: not one.watches._watches["ns", "watch"].pending)
        kept = one.watches._watches["ns", "watch"].kept_bytes
        told = [await ask(one)]
        while told[-1].more:
            told.append(await ask(one))
        return kept, [ids(item) for item in told], {len(o.result) for item in told for o in item.ended}

    kept, parts, sizes = play(scenario)
    assert kept <= 8 << 20
    assert len(parts) > 2
    assert sorted(name for part in parts for name in part) == names
    assert sizes == {1 << 20}


def test_ten_thousand_watched_among_as_many_others(play):
    ours = [f"ours{number}" for number in range(10_000)]

    async def scenario(one):
        await one.submit(*ours)
        await one.submit(*[f"theirs{number}" for number in range(10_000)])
        for start in range(0, 10_000, 1000):
            await ask(one, *ours[start : start + 1000])
        for start in range(0, 10_000, 500):
            await one.end(*[f"theirs{number}" for number in range(start, start + 500)])
            await one.end(*ours[start : start + 500])
        seen = []
        while len(seen) < 10_000:
            seen += ids(await ask(one, timeout_s=LIMIT_S))
        return sorted(seen), ids(await ask(one))

    assert play(scenario) == (sorted(ours), [])
