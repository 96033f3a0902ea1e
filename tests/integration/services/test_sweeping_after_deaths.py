"""A replica dies between any two words with its stores: another one brings every row to exactly one end."""

import asyncio

import pytest

from claim_replica import TERMINAL, Replica, failure, success
from dying import Death, Died
from lakeshore_controlplane.faults import Fenced
from lakeshore_controlplane.store.lane.port import QueueKey

NAMES = ["a", "b", "c", "d"]


async def claim_one(one):
    await one.claim("dying", 1)


async def claim_many(one):
    await one.claim("dying", 3)


async def claim_what_expired(one):
    one.clock.advance(31)
    await one.claim("dying", 3)


async def report_one(one):
    await one.finishing.report_one("ns", "w", success("a"))


async def report_many(one):
    reports = [success("a"), failure("b", retry=True), failure("c")]
    await one.finishing.report("ns", "w", reports)


async def report_crash(one):
    await one.finishing.report_one("ns", "w", failure("a", retry=True, crashed=True))


async def release(one):
    await one.leasing.release("ns", "w", ["a", "b"])


async def renew(one):
    await one.leasing.renew("ns", "w", ["a", "b", "c"], 30)


async def cancel_one(one):
    await one.cancelling.cancel("ns", ["a"])


async def cancel_many(one):
    await one.cancelling.cancel("ns", ["a", "d"])


async def sweep(one):
    one.clock.advance(31)
    await one.sweeping.sweep_once()


async def refill(one):
    await one.lane.forget(QueueKey("ns", "q"))
    await one.sweeping.sweep_once()


DEEDS = [
    claim_one,
    claim_many,
    claim_what_expired,
    report_one,
    report_many,
    report_crash,
    release,
    renew,
    cancel_one,
    cancel_many,
    sweep,
    refill,
]


async def finish_all(one, acked):
    """What other workers do until nothing is left: each attempt that they end is acknowledged once."""
    collection = one.database.collection("invocations")
    for _ in range(40):
        await one.sweeping.sweep_once()
        for name, attempt in await one.claim("other", 10):
            assert (
                await one.finishing.report_one("ns", "other", success(name, attempt, b"end")) == "succeeded"
            )
            acked.append(name)
        if await collection.count_documents({"state": {"$in": [*TERMINAL]}}) == len(NAMES):
            return
        one.clock.advance(5)
    pytest.fail(f"not ended: {await collection.find({}).to_list()}")


async def die_at(one, deed, death):
    """Let another replica do the deed until it dies; whether it did die."""
    mortal = Replica(one.database, one.lane, one.clock, wrap=death)
    try:
        await deed(mortal)
        await mortal.close()
    except Died:
        return True
    finally:
        for task in mortal.placing._tasks:
            task.cancel()
        await asyncio.gather(*mortal.placing._tasks, return_exceptions=True)
    return False


async def scene(one):
    """Three rows run and one waits; everything before is gone."""
    await one.placing.close()
    await one.database.collection("invocations").delete_many({})
    await one.lane.forget(QueueKey("ns", "q"))
    await one.submit(*NAMES)
    await one.warm()
    assert len(await one.claim("w", 3, lease_s=30)) == 3


@pytest.mark.parametrize("before", [False, True], ids=["after a word", "before a word"])
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_a_death_between_two_words_with_the_stores_loses_and_doubles_nothing(replicas, deed, before):
    async def test(one):
        for at in range(1, 60):
            await scene(one)
            died = await die_at(one, deed, Death(at, before=before))
            states = {name: await one.state(name) for name in NAMES}
            acked = []
            await finish_all(one, acked)
            after = {name: await one.row(name) for name in NAMES}
            assert len(acked) == len(set(acked)), "an invocation was acknowledged twice"
            for name, row in after.items():
                if states[name] in TERMINAL:
                    assert row["state"] == states[name], "a terminal state changed"
                    assert name not in acked
                else:
                    assert row["state"] == "succeeded"
                    assert name in acked
                assert row["attempt"] <= 3
            if not died:
                assert at > 1, "nothing was tried"
                return
        pytest.fail("the deed has no end")

    replicas.run(test)


def test_report_04_killed_inside_its_reaper_another_replica_reaps(replicas):
    """At each word of the reaper in turn: the next one to look finds the work within one hold's pause."""

    async def test(one):
        for at in range(1, 60):
            await scene(one)
            one.clock.advance(31)

            async def reap(mortal):
                await mortal.sweeping.sweep_once()

            died = await die_at(one, reap, Death(at))
            await one.sweeping.sweep_once()
            got = await one.claim("other", 10)
            if len(got) < 4:  # what the dead one was handed comes up again
                one.clock.advance(5)
                got += await one.claim("other", 10)
            assert sorted(got) == [("a", 2), ("b", 2), ("c", 2), ("d", 1)]
            assert [(await one.row(name))["crashes"] for name in NAMES] == [1, 1, 1, 0]
            if not died:
                assert at > 1, "nothing was tried"
                return

    replicas.run(test)


@pytest.mark.parametrize("state", ["succeeded", "queued"])
def test_a_report_whose_answer_was_lost_with_its_replica_gets_it_from_the_next(replicas, state):
    async def test(one):
        report = success("a") if state == "succeeded" else failure("a", retry=True, delay_s=100.0)
        for at in range(1, 20):
            await scene(one)

            async def tell(mortal):
                await mortal.finishing.report_one("ns", "w", report)

            died = await die_at(one, tell, Death(at))
            assert await one.finishing.report_one("ns", "w", report) == state
            with pytest.raises(Fenced):
                await one.finishing.report_one(
                    "ns", "w", failure("a", error={"type": "Other", "message": ""})
                )
            if not died:
                assert at > 1, "nothing was tried"
                return

    replicas.run(test)
