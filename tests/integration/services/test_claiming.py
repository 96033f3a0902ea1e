"""Claims through a lane: in order, once, never a row that may not start."""

import asyncio

import pytest

from claim_replica import success
from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.store.lane.port import Entry, QueueKey

Q = QueueKey("ns", "q")


def test_a_claim_gives_whole_rows_in_order(replicas):
    async def test(one):
        await one.submit("low", priority=-1.0)
        await one.submit("a", "b", priority=1.0)
        await one.warm()
        rows = await one.claiming.claim("ns", "q", "w1", 3, lease_s=20.0)
        assert [row["_id"] for row in rows] == ["ns/a", "ns/b", "ns/low"]
        assert bytes(rows[0]["argsBlob"]) == b"env-a"
        now = one.clock.steady()
        for row in rows:
            assert (row["state"], row["workerId"], row["attempt"]) == ("running", "w1", 1)
            assert (row["startedAt"], row["leaseUntil"]) == (now, now + 20)
        assert await one.claim("w2", 3) == []

    replicas.run(test)


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("fifo", ["top1", "top2", "mid1", "mid2", "low1"]),
        ("filo", ["top2", "top1", "mid2", "mid1", "low1"]),
        ("boltzmann", ["top1", "top2", "mid1", "mid2", "low1"]),
    ],
)
def test_the_queues_own_kind_orders_claims_with_a_lane_and_without(replicas, kind, expected, warm):
    async def test(one):
        await one.declare(kind=kind, kindParams={"temperature": 1e-9})
        for name, priority in (("mid1", 1.0), ("low1", -2.0), ("top1", 5.0), ("mid2", 1.0), ("top2", 5.0)):
            await one.submit(name, priority=priority)
        if warm:
            await one.warm()
        first = await one.claim("w", 2)
        rest = [(await one.claim("w"))[0] for _ in range(3)]
        assert first + rest == [(name, 1) for name in expected]
        assert await one.claim("w") == []

    replicas.run(test)


def test_a_field_of_run_config_can_be_the_priority(replicas):
    async def test(one):
        await one.declare(kind="priority", kindParams={"priority_field": "urgency"})
        await one.submit("calm", urgency=1, priority=9.0)
        await one.submit("urgent", urgency=5)
        assert await one.claim("w", 2) == [("urgent", 1), ("calm", 1)]

    replicas.run(test)


def test_two_replicas_claim_a_thousand_rows_each_once(replicas):
    async def test(one, two):
        names = [f"i{n:04}" for n in range(1000)]
        await one.submit(*names)
        await one.warm()

        async def take(replica, worker, n):
            got = []
            while rows := await replica.claim(worker, n):
                got += rows
            return got

        takers = [take(one, "a", 7), take(two, "b", 1), take(one, "c", 100), take(two, "d", 13)]
        got = [row for part in await asyncio.gather(*takers) for row in part]
        assert sorted(got) == [(name, 1) for name in names]
        assert await one.rows_in("running") == 1000

    replicas.run(test)


def test_places_of_rows_that_are_gone_ended_or_elsewhere_keep_nothing_back(replicas):
    async def test(one):
        await one.submit("ended", "held", "good")
        await one.warm()
        await one.claim("w", 2)
        await one.finishing.report_one("ns", "w", success("ended"))
        await one.placing.close()
        stale = [Entry("ended", 9.0, 1), Entry("never-was", 9.0, 2), Entry("held", 9.0, 3)]
        await one.lane.push(Q, stale)
        assert await one.claim("w2") == [("good", 1)]
        assert (await one.lane.sizes(Q)) == (0, 0, 2)  # held and good
        one.clock.advance(31)
        assert sorted(await one.claim("w3", 5)) == [("good", 2), ("held", 2)]

    replicas.run(test)


def test_many_stale_places_are_cleared_away_without_losing_the_bell(replicas):
    async def test(one):
        await one.submit("good")
        await one.warm()
        await one.lane.push(Q, [Entry(f"gone{n}", 9.0, n) for n in range(150)])
        bell = one.bells.subscribe("work:ns/q")
        got = await one.claim("w")
        rounds = 1
        while not got:
            assert await bell.wait(0), "a claim that gave up says that there is more"
            got, rounds = await one.claim("w"), rounds + 1
        assert (got, rounds) == ([("good", 1)], 3)
        bell.close()

    replicas.run(test)


def test_a_delayed_row_waits_and_a_passed_deadline_ends_as_timeout(replicas):
    async def test(one):
        wall = one.clock.wall()
        await one.submit("late", delay_s=20, priority=9.0)
        await one.submit("over", deadline=wall + 10)
        await one.submit("over-late", deadline=wall + 10, delay_s=100)
        await one.submit("now")
        await one.warm()
        one.clock.advance(11)
        bell = one.bells.subscribe("done:ns")
        assert await one.claim("w", 5) == [("now", 1)]
        for name in ("over", "over-late"):
            row = await one.row(name)
            assert (row["state"], row["attempt"], row["finishedAt"]) == ("timeout", 0, one.clock.steady())
            assert row["error"]["type"] == "DeadlineExceeded"
        assert await bell.wait(0)
        bell.close()
        one.clock.advance(10)
        assert await one.claim("w", 5) == [("late", 1)]
        assert one.tallies.deadline_ends == 2

    replicas.run(test)


@pytest.mark.parametrize("warm", [True, False])
def test_a_row_whose_deadline_is_within_the_queues_cutoff_is_ended_at_the_claim(replicas, warm):
    async def test(one):
        await one.declare(admission={"deadline_cutoff_s": 30.0})
        await one.submit("soon", deadline=one.clock.wall() + 20)
        await one.submit("later", deadline=one.clock.wall() + 40)
        if warm:
            await one.warm()
        assert await one.claim("w", 2) == [("later", 1)]
        assert await one.state("soon") == "timeout"

    replicas.run(test)


@pytest.mark.parametrize("state", ["draining", "paused", "archived"])
def test_a_closed_queue_gives_nothing(replicas, state):
    async def test(one):
        await one.submit("a")
        await one.declare(state=state)
        assert await one.claim("w") == []
        assert await one.leasing.next_due("ns", "q") is None
        await one.declare(state="active")
        assert await one.claim("w") == [("a", 1)]

    replicas.run(test)


def test_an_older_client_gets_the_queues_long_lease(replicas):
    async def test(one):
        await one.declare(legacyLeaseS=5000.0)
        await one.submit("a")
        await one.warm()
        await one.claim("w", lease_s=None)
        one.clock.advance(4999)
        assert await one.claim("thief") == []
        one.clock.advance(2)
        assert await one.claim("thief") == [("a", 2)]

    replicas.run(test)


def test_report_20_a_head_job_that_nobody_can_take_keeps_nothing_back(replicas):
    """Its deadline is over, its place is wrong, or each worker that takes it hands it back."""

    async def test(one):
        await one.submit("impossible", priority=100.0)
        await one.submit(*[f"i{n}" for n in range(10)])
        await one.warm()
        done = []
        for turn in range(10):
            held = await one.claim(f"w{turn}", 2)
            assert held[0] == ("impossible", 1)
            assert await one.leasing.release("ns", f"w{turn}", ["impossible"]) == 1
            await one.finishing.report_one("ns", f"w{turn}", success(held[1][0]))
            done.append(held[1][0])
        assert done == [f"i{n}" for n in range(10)]
        assert await one.state("impossible") == "queued"

    replicas.run(test)


def test_a_poll_of_an_unknown_queue_makes_none(replicas):
    async def test(one):
        assert await one.claim("w", queue="nobody") == []
        assert await one.leasing.next_due("ns", "nobody") is None
        assert await one.queue_rows.find(QueueKey("ns", "nobody")) is None

    replicas.run(test)


def test_tenants_with_the_same_names_are_apart(replicas):
    async def test(one):
        await one.submit("a", namespace="other")
        await one.warm(namespace="other")
        assert await one.claim("w") == []
        assert await one.cancelling.cancel("ns", ["a"]) == []
        assert await one.claim("w", namespace="other") == [("a", 1)]
        assert await one.leasing.renew("ns", "w", ["a"], 30) == ["a"]
        assert await one.finishing.report("ns", "w", [success("a")]) == ["a"]

    replicas.run(test)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "lifo"}, "queue kind 'lifo': use one of fifo, priority, filo, boltzmann"),
        ({"temperature": 0.0}, "temperature 0.0: use a finite number above 0"),
        ({"temperature": float("nan")}, "temperature nan: use"),
        ({"lease_s": float("inf")}, "lease_s inf: use a finite number of seconds above 0"),
        ({"lease_s": 0.0}, "lease_s 0.0: use"),
    ],
)
def test_odd_numbers_are_refused(replicas, options, says):
    async def test(one):
        with pytest.raises(BadRequest, match=says):
            await one.claim("w", **options)

    replicas.run(test)
