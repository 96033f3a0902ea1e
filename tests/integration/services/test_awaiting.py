"""Waiting for ends: one, some, ten thousand; told by a bell, by the row, or late."""

import asyncio
import time
import tracemalloc

import pytest

from claim_replica import Replica as ClaimReplica
from claim_replica import failure, success
from lakeshore_controlplane.faults import NotFound
from lakeshore_controlplane.services.finishers import Finishers
from lakeshore_controlplane.services.topics import Outcome
from lakeshore_controlplane.store.lane.memory import MemoryLane
from waiting_replica import LIMIT_S, Stage, until, waits


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database)


def test_one_that_has_ended_is_told_at_once(play):
    async def scenario(one):
        await one.submit("a")
        await one.end("a", result=b"x" * 10)
        return await one.awaiting.outcome("ns", "a", timeout_s=LIMIT_S)

    assert play(scenario) == Outcome("a", "succeeded", 1, b"x" * 10)


def test_one_that_goes_on_is_pending_in_its_state(play):
    async def scenario(one):
        await one.submit("a", "b")
        await one.claim("b")
        return [await one.awaiting.outcome("ns", name, timeout_s=0.02) for name in "ab"]

    assert play(scenario) == ["queued", "running"]


def test_an_unknown_one_and_another_tenants_are_not_found(play):
    async def scenario(one):
        await one.submit("theirs", namespace="other")
        for name in ("unknown", "theirs"):
            with pytest.raises(NotFound, match=f"^no invocation {name} on this plane: it was purged"):
                await one.awaiting.outcome("ns", name, timeout_s=LIMIT_S)

    play(scenario)


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize(
    "error",
    [
        None,
        {"type": "E", "message": "m"},
        {"type": "E", "message": "\ud800".encode("utf-8", "surrogatepass")},
    ],
)
def test_an_end_is_told_at_once_with_all_that_it_left(play, size, error):
    async def scenario(one):
        await one.submit("a")
        waiting = asyncio.create_task(one.awaiting.outcome("ns", "a", timeout_s=LIMIT_S))
        await waits(one, "done:ns")
        began = time.monotonic()
        await one.end("a", state="failed" if error else "succeeded", result=b"x" * size, error=error)
        return await waiting, time.monotonic() - began < 2

    found, quick = play(scenario)
    shown = error and {"type": "E", "message": "m" if error["message"] == "m" else "\ud800"}
    assert found == Outcome("a", "failed" if error else "succeeded", 1, b"x" * size, shown)
    assert quick


def test_an_end_that_no_bell_told_is_found_in_the_rows(play):
    async def scenario(one):
        await one.submit("a")
        waiting = asyncio.create_task(one.awaiting.outcome("ns", "a", timeout_s=LIMIT_S))
        await waits(one, "done:ns")
        await one.end("a", rung=False)
        async with asyncio.timeout(10):
            return (await waiting).state

    assert play(scenario) == "succeeded"


def test_many_waiters_for_one_end_are_all_told(play):
    async def scenario(one):
        await one.submit("a", "other")
        waiting = [asyncio.create_task(one.awaiting.outcome("ns", "a", timeout_s=LIMIT_S)) for _ in range(50)]
        gone = waiting.pop()
        await waits(one, "done:ns")
        gone.cancel()
        await one.end("other")
        await one.end("a")
        return {outcome.state for outcome in await asyncio.gather(*waiting)}

    assert play(scenario) == {"succeeded"}


def test_ten_thousand_waiters_take_little_and_are_told_soon(play):
    names = [f"i{number}" for number in range(10_000)]

    async def scenario(one):
        await one.submit(*names)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        waiting = [asyncio.create_task(one.awaiting.outcome("ns", name, timeout_s=LIMIT_S)) for name in names]
        await until(lambda: one.bells._listeners.get("done:ns"))
        await until(lambda: not one.awaiting._looks._running)
        each = (tracemalloc.get_traced_memory()[0] - before) / len(names)
        tracemalloc.stop()
        began = time.monotonic()
        for start in range(0, 10_000, 500):
            await one.end(*names[start : start + 500])
        told = await asyncio.gather(*waiting)
        return each, time.monotonic() - began, [outcome.id for outcome in told]

    each, took_s, told = play(scenario)
    assert told == names
    assert each < 5000
    assert took_s < 20


def test_waiters_for_nothing_leave_nothing_behind(play):
    async def scenario(one):
        await one.submit("a", "b")
        assert await one.awaiting.outcome("ns", "a", timeout_s=0.01) == "queued"
        assert await one.awaiting.outcomes("ns", ["a", "b", "c"], timeout_s=0.01) == []
        with pytest.raises(NotFound):
            await one.awaiting.outcome("ns", "c")
        return one.finishers._halls["ns"].waiting

    assert play(scenario) == {}


def test_the_first_of_some_is_waited_for(play):
    async def scenario(one):
        await one.submit("a", "b", "c")
        await one.end("c")
        at_once = await one.awaiting.outcomes("ns", ["a", "b", "c", "unknown"], timeout_s=LIMIT_S)
        waiting = asyncio.create_task(one.awaiting.outcomes("ns", ["a", "b"], timeout_s=LIMIT_S))
        await waits(one, "done:ns")
        await until(lambda: "b" in one.finishers._halls["ns"].waiting)
        await one.end("b", result=None)
        return [item.id for item in at_once], [item.id for item in await waiting]

    assert play(scenario) == (["c"], ["b"])


def test_a_replica_that_stops_answers_those_who_wait(play):
    async def scenario(one):
        await one.submit("a")
        waiting = [
            asyncio.create_task(one.awaiting.outcome("ns", "a", timeout_s=LIMIT_S)),
            asyncio.create_task(one.awaiting.outcomes("ns", ["a"], timeout_s=LIMIT_S)),
            asyncio.create_task(one.watches.wait("ns", "watch", ["a"], timeout_s=LIMIT_S)),
            asyncio.create_task(
                one.wakeups.wait("ns", {"done": one.bells.cursor("done:ns")}, timeout_s=LIMIT_S)
            ),
        ]
        await until(lambda: one.finishers._halls and not one.awaiting._looks._running)
        await until(lambda: len(one.bells._listeners.get("done:ns", [])) == 2)
        await until(lambda: one.watches._watches and one.watches._watches["ns", "watch"].wake)
        began = time.monotonic()
        one.stop()
        answers = await asyncio.gather(*waiting)
        return answers[0], answers[1], answers[2].ended, answers[3][1], time.monotonic() - began < 2

    assert play(scenario) == ("queued", [], [], ["done"], True)


def test_what_workers_report_is_told(play):
    """The services that end invocations, and those that wait for it, on one replica's bells."""

    async def scenario(one):
        claims = await ClaimReplica(one.database, MemoryLane(), play.clock).open()
        waiters = Finishers(rows=one.finishers._rows, bells=claims.bells, stopping=lambda: False)
        one.awaiting._finishers = one.awaiting._looks._finishers = waiters
        await claims.submit("a", "b", "c")
        waiting = [asyncio.create_task(one.awaiting.outcome("ns", name, timeout_s=LIMIT_S)) for name in "abc"]
        await until(lambda: claims.bells._listeners.get("done:ns"))
        assert len(await claims.claim(n=2)) == 2
        await claims.finishing.report("ns", "w", [success("a", result=b"x"), failure("b")])
        await claims.cancelling.cancel("ns", ["c"])
        told = await asyncio.gather(*waiting)
        await waiters.close()
        await claims.close()
        return told

    assert play(scenario) == [
        Outcome("a", "succeeded", 1, b"x"),
        Outcome("b", "failed", 1, None, {"type": "E", "message": "m"}),
        Outcome("c", "killed", 0),
    ]
