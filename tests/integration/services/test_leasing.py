"""Leases: renewed, run out, handed back; with a lane and when the lane knows nothing."""

import pytest

from claim_replica import failure, success
from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.store.lane.port import QueueKey

Q = QueueKey("ns", "q")


@pytest.fixture(params=["warm", "cold"])
def begin(request):
    """``begin(one)``: fill the lane, or have it forget everything before each claim that the test makes."""

    async def begin(one):
        if request.param == "warm":
            return await one.warm()
        claim = one.claim

        async def forgetful(*args, **options):
            await one.placing.close()
            await one.lane.forget(Q)
            return await claim(*args, **options)

        one.claim = forgetful
        return None

    return begin


def test_report_01_a_lost_workers_rows_are_attempt_2_of_another_in_their_order(replicas, begin):
    async def test(one, two):
        names = [f"i{n:02}" for n in range(50)]
        await one.submit(*names)
        await begin(one)
        await one.claim("dead", 50, lease_s=10)
        one.clock.advance(9)
        assert await one.claim("w", 50) == []
        one.clock.advance(1)
        assert await one.claim("w", 50) == [(name, 2) for name in names]
        error = (await two.row("i00"))["error"]
        assert error["type"] == "WorkerLost"
        assert error["message"].startswith(
            "worker dead stopped renewing its lease during attempt 1: it was killed"
        )
        assert one.tallies.lease_expiries == 50

    replicas.run(test)


def test_report_02_a_renewed_lease_is_one_attempt_however_long(replicas, begin):
    async def test(one, two):
        await one.submit("a")
        await begin(one)
        await one.claim("w", lease_s=30)
        for _ in range(15):
            one.clock.advance(29)
            assert await two.leasing.renew("ns", "w", ["a"], 30) == []
            assert await one.claim("thief") == []
            assert await one.leasing.next_due("ns", "q") == pytest.approx(30)
        assert await one.finishing.report_one("ns", "w", success("a")) == "succeeded"
        assert one.tallies.lease_expiries == 0

    replicas.run(test)


def test_an_overdue_lease_is_renewed_while_nobody_took_it(replicas, begin):
    async def test(one):
        await one.submit("a")
        await begin(one)
        await one.claim("w", lease_s=10)
        one.clock.advance(100)
        assert await one.leasing.next_due("ns", "q") == 0.0
        assert await one.leasing.renew("ns", "w", ["a"], 10) == []
        assert await one.claim("thief") == []

    replicas.run(test)


def test_renew_tells_what_is_lost(replicas):
    async def test(one):
        await one.submit("held", "cancelled", "done", "released", "retried")
        await one.warm()
        await one.claim("w", 5)
        await one.cancelling.cancel("ns", ["cancelled"])
        await one.finishing.report("ns", "w", [success("done"), failure("retried", retry=True)])
        await one.leasing.release("ns", "w", ["released"])
        asked = ["held", "cancelled", "done", "released", "unknown", "retried", "held"]
        lost = await one.leasing.renew("ns", "w", asked, 30)
        assert lost == ["cancelled", "done", "released", "unknown", "retried"]
        assert await one.claim("w2", 9) == [("released", 1), ("retried", 2)]

    replicas.run(test)


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf")])
def test_an_odd_lease_is_refused(memory_replicas, bad):
    async def test(one):
        with pytest.raises(BadRequest, match="lease_s"):
            await one.leasing.renew("ns", "w", ["a"], bad)

    memory_replicas.run(test)


def test_a_released_claim_is_back_at_its_place_with_its_attempt(replicas, begin):
    async def test(one):
        await one.submit("a", "b", "c")
        await begin(one)
        await one.claim("w", 3)
        bell = one.bells.subscribe("work:ns/q")
        assert await one.leasing.release("ns", "w", ["b", "a", "a", "unknown"]) == 2
        assert await bell.wait(0)
        bell.close()
        assert await one.leasing.release("ns", "w", ["a"]) == 0
        assert await one.leasing.release("ns", "stranger", ["c"]) == 0
        assert one.idle == [("ns", "w")]
        assert await one.claim("w2", 3) == [("a", 1), ("b", 1)]
        assert await one.finishing.report("ns", "w", [success("a")]) == ["a"]

    replicas.run(test)


def test_work_that_kills_its_workers_ends_as_poison(replicas, begin):
    async def test(one):
        await one.submit("bad", "good")
        await begin(one)
        for attempt in (1, 2, 3):
            assert await one.claim(f"w{attempt}", lease_s=10) == [("bad", attempt)]
            one.clock.advance(11)
        bell = one.bells.subscribe("done:ns")
        assert await one.claim("w") == [("good", 1)]
        assert await bell.wait(0)
        bell.close()
        row = await one.row("bad")
        assert (row["state"], row["crashes"], row["error"]["type"]) == ("failed", 3, "PoisonJob")
        assert "worker w3 stopped renewing" in row["error"]["message"]

    replicas.run(test)


def test_next_due_is_the_nearest_time_that_wants_a_claim(replicas, begin):
    async def test(one):
        assert await one.leasing.next_due("ns", "q") is None
        await one.submit("now")
        await begin(one)
        assert await one.leasing.next_due("ns", "q") is None
        await one.submit("late", delay_s=60)
        assert await one.leasing.next_due("ns", "q") == pytest.approx(60)
        await one.submit("over", delay_s=100, deadline=one.clock.wall() + 40)
        assert await one.leasing.next_due("ns", "q") == pytest.approx(40)
        await one.claim("w", lease_s=20)
        assert await one.leasing.next_due("ns", "q") == pytest.approx(20)
        one.clock.advance(25)
        assert await one.leasing.next_due("ns", "q") == 0.0

    replicas.run(test)


def test_a_queues_depth_is_told_of_rows_before_they_come_back(memory_replicas):
    async def test(one):
        told = []

        async def returning(queue, n):
            told.append((queue, n, [(await one.row(name))["state"] for name in ("a", "b", "c", "d")]))

        one.when_rows_return = returning
        await one.submit("a", "b", "c", "d")
        await one.warm()
        await one.claim("w", 4)
        await one.leasing.release("ns", "w", ["a"])
        await one.finishing.report("ns", "w", [failure("b", retry=True), failure("c")])
        one.clock.advance(31)
        await one.sweeping.sweep_once()
        run, wait = "running", "queued"
        assert told == [
            (Q, 1, [run, run, run, run]),
            (Q, 1, [wait, run, run, run]),
            (Q, 1, [wait, wait, "failed", run]),
        ]

    memory_replicas.run(test)
