"""The sweeper: it finds what no request looks at, in any replica, and goes on after an outage."""

import asyncio

import pytest

from claim_replica import failure, success
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.lane.port import Entry, LaneDownError, QueueKey

Q = QueueKey("ns", "q")


async def until(condition, what, limit_s=20):
    for _ in range(int(limit_s / 0.01)):
        if await condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"not in {limit_s} s: {what}")


def test_leases_run_out_and_deadlines_pass_though_nobody_claims(replicas):
    async def test(one, two):
        await one.submit("lost", "busy")
        await one.submit("over", deadline=one.clock.wall() + 10)
        await one.submit("paused", queue="paused")
        await one.warm()
        await one.claim("w1", lease_s=30)
        await one.claim("w2", lease_s=90)
        await one.claim("w3", queue="paused", lease_s=30)
        await one.declare("paused", state="paused")
        ends = one.clock.steady() + 30
        one.clock.advance(40)
        bells = [two.bells.subscribe(topic) for topic in ("work:ns/q", "done:ns", "journal:ns/over")]
        await two.sweeping.sweep_once()
        assert all([await bell.wait(0) for bell in bells])
        states = [await one.state(name) for name in ("lost", "busy", "over", "paused")]
        assert states == ["queued", "running", "timeout", "queued"]
        row = await one.row("lost")
        assert (row["crashes"], row["workerId"], row["dueAt"]) == (1, None, ends)
        assert (two.tallies.lease_expiries, two.tallies.deadline_ends) == (2, 1)
        await one.sweeping.sweep_once()
        assert one.tallies.lease_expiries == 0
        assert await one.claim("w4", 5) == [("lost", 2)]
        for bell in bells:
            bell.close()

    replicas.run(test)


def test_more_leases_than_one_look_takes_run_out_in_one_sweep(replicas):
    async def test(one):
        names = [f"i{n:04}" for n in range(1200)]
        await one.submit(*names)
        await one.warm()
        for worker in ("w1", "w2", "w3"):
            assert len(await one.claim(worker, 400, lease_s=10)) == 400
        one.clock.advance(11)
        await one.sweeping.sweep_once()
        assert one.tallies.lease_expiries == 1200
        assert await one.claim("w", 1200) == [(name, 2) for name in names]

    replicas.run(test)


def test_rows_whose_push_never_came_are_put_back(replicas):
    async def test(one):
        await one.submit("known", "known2")
        await one.warm()
        await one.submit("lost", pushed=False, priority=5.0)

        async def repaired():
            await one.sweeping.sweep_once()
            return one.tallies.lane_repairs == 1

        await until(repaired, "the row is put back")
        assert await one.claim("w", 3) == [("lost", 1), ("known", 1), ("known2", 1)]
        for _ in range(3):
            await one.sweeping.sweep_once()
        assert one.tallies.refills == 2

    replicas.run(test)


def test_an_idle_claim_finds_a_row_whose_push_never_came_by_itself(replicas):
    async def test(one):
        await one.submit("a")
        await one.warm()
        await one.claim("w")
        await one.submit("lost", pushed=False)
        assert await one.claim("w") == [("lost", 1)]
        assert one.tallies.lane_repairs == 1

    replicas.run(test)


def test_a_lane_in_order_is_left_alone(replicas):
    async def test(one):
        await one.submit("a", "b")
        await one.submit("late", delay_s=50)
        await one.warm()
        await one.claim("w")
        before = await one.lane.revision(Q)
        for _ in range(5):
            await one.sweeping.sweep_once()
        assert await one.lane.revision(Q) == before
        assert (one.tallies.refills, one.tallies.lane_repairs) == (1, 0)

    replicas.run(test)


def test_a_cold_lane_is_filled_and_knows_everything(replicas):
    async def test(one):
        await one.submit("run", "a", "b")
        await one.submit("late", delay_s=50)
        assert await one.claim("w", lease_s=30) == [("run", 1)]
        await one.placing.close()
        await one.lane.forget(Q)
        await one.sweeping.sweep_once()
        assert await one.lane.is_warm(Q)
        assert await one.lane.sizes(Q) == (2, 1, 1)
        assert await one.leasing.next_due("ns", "q") == pytest.approx(30)
        one.clock.advance(31)
        assert await one.claim("w2", 5) == [("run", 2), ("a", 1), ("b", 1)]

    replicas.run(test)


def test_a_claim_of_a_cold_lane_has_it_filled_in_the_background(replicas):
    async def test(one):
        await one.submit(*[f"i{n:03}" for n in range(100)])
        assert await one.claim("w", 2) == [("i000", 1), ("i001", 1)]
        await until(lambda: one.lane.is_warm(Q), "the lane is filled")
        assert await one.claim("w", 2) == [("i002", 1), ("i003", 1)]
        assert one.tallies.refills == 1

    replicas.run(test)


def test_holds_of_rows_that_do_not_run_are_given_up(replicas):
    async def test(one):
        await one.submit("waits")
        await one.warm()
        taken = await one.lane.take(
            Q, 1, kind="fifo", temperature=1.0, now=one.clock.steady(), held_until=one.clock.steady() + 5
        )
        assert taken.ids == ["waits"]  # and whoever took it is no more
        await one.lane.hold(Q, ["never-was"], one.clock.steady() + 5)
        one.clock.advance(6)
        await one.sweeping.sweep_once()
        assert await one.lane.sizes(Q) == (1, 0, 0)
        assert await one.claim("w") == [("waits", 1)]

    replicas.run(test)


def test_a_bell_rings_when_a_delay_ends_and_the_lane_lets_it_in(replicas):
    async def test(one):
        await one.submit("late", delay_s=5)
        await one.warm()
        one.clock.advance(6)
        await one.sweeping.sweep_once()
        assert await one.lane.sizes(Q) == (1, 0, 0)
        assert await one.claim("w") == [("late", 1)]

    replicas.run(test)


def test_two_sweepers_at_once_do_everything_once(replicas):
    async def test(one, two):
        names = [f"i{n:03}" for n in range(200)]
        await one.submit(*names)
        await one.submit(*[f"over{n:03}" for n in range(100)], deadline=one.clock.wall() + 20, priority=-1.0)
        await one.warm()
        await one.claim("w", 200, lease_s=10)
        one.clock.advance(21)
        await asyncio.gather(*[each.sweeping.sweep_once() for each in (one, two, one, two)])
        assert one.tallies.lease_expiries + two.tallies.lease_expiries == 200
        assert one.tallies.deadline_ends + two.tallies.deadline_ends == 100
        assert await one.claim("w", 300) == [(name, 2) for name in names]
        assert {(await one.row(name))["crashes"] for name in names} == {1}

    replicas.run(test)


def test_the_loop_sweeps_until_it_is_stopped_and_outlives_an_outage_of_the_database(
    memory_replicas, document_server
):
    async def test(one):
        await one.submit("a", "b")
        await one.warm()
        await one.claim("w", lease_s=10)
        await one.sweeping.start()
        await one.sweeping.start()
        document_server.kill()
        with pytest.raises(StoreUnavailable):
            await one.sweeping.sweep_once()
        one.clock.advance(11)
        await asyncio.to_thread(document_server.ensure)

        async def expired():
            return (await one.state("a")) == "queued"

        await until(expired, "the lease ran out")
        await one.sweeping.stop()
        await one.sweeping.stop()
        await one.claim("w", lease_s=10)
        one.clock.advance(11)
        assert await one.state("a") == "running"

    memory_replicas.run(test)


def test_with_redis_down_everything_works_from_the_rows_and_a_stale_lane_is_set_right(
    redis_replicas, lane_server
):
    async def test(one, two):
        await one.submit(*[f"i{n}" for n in range(6)])
        await one.submit("over", deadline=one.clock.wall() + 10, delay_s=5)
        await one.warm()
        assert await one.claim("w", 2, lease_s=10) == [("i0", 1), ("i1", 1)]
        await one.finishing.report_one("ns", "w", success("i0"))
        lane_server.freeze()
        try:
            await one.submit("new", priority=1.0)
            assert await one.claim("w", 2) == [("new", 1), ("i2", 1)]
            assert await one.leasing.next_due("ns", "q") == pytest.approx(5)
            assert await two.claim("w2") == [("i3", 1)]
            await two.finishing.report("ns", "w2", [success("i3")])
            assert await one.leasing.renew("ns", "w", ["i1", "i2"], 10) == []
            assert await one.leasing.release("ns", "w", ["i2"]) == 1
            assert await one.cancelling.cancel("ns", ["i4"]) == ["i4"]
            one.clock.advance(11)
            await one.sweeping.sweep_once()
            assert await one.state("over") == "timeout"
            assert await two.claim("w3", 1, kind="filo") == [("i5", 1)]
            assert await two.claim("w3", 5, kind="boltzmann", temperature=1e-9) == [("i1", 2), ("i2", 1)]
        finally:
            lane_server.thaw()

        async def answers():
            try:
                return await one.lane.is_warm(Q)
            except LaneDownError:
                return False

        await until(answers, "the lane answers")
        await one.submit("last", pushed=False)
        await one.sweeping.sweep_once()
        assert await one.claim("w4", 5) == [("last", 1)]
        assert await one.claim("w4", 5) == []

    redis_replicas.run(test)


def test_a_flushed_redis_costs_nothing_but_time(redis_replicas):
    import redis

    async def test(one):
        names = [f"i{n:02}" for n in range(30)]
        await one.submit(*names)
        await one.warm()
        got = await one.claim("w", 5)
        with redis.Redis.from_url(redis_replicas.lane_url) as client:
            for _ in range(5):
                client.flushdb()
                got += await one.claim("w", 5)
        assert got == [(name, 1) for name in names]
        one.clock.advance(31)
        assert len(await one.claim("w2", 30)) == 30

    redis_replicas.run(test)


def test_stale_entries_of_another_queue_move_nothing(replicas):
    async def test(one):
        await one.submit("a", queue="other")
        await one.submit("b")
        await one.warm()
        await one.lane.push(Q, [Entry("zzz", 1.0, 1)])
        assert await one.claim("w", 5) == [("b", 1)]
        assert await one.state("a") == "queued"

    replicas.run(test)


def test_a_lane_that_is_filled_while_everything_moves_ends_up_right(replicas):
    """Claims, ends and retries go on from the rows while two replicas fill the lane again and again."""

    async def test(one, two):
        names = [f"i{n:03}" for n in range(300)]
        await one.submit(*names)
        done = asyncio.Event()

        async def fill(replica):
            while not done.is_set():
                await replica.lane.forget(Q)
                await replica.placing.refill(Q)

        async def work(replica, worker):
            ended = 0
            while ended < 40:
                for name, attempt in await replica.claim(worker, 2, lease_s=30):
                    if attempt == 1 and int(name[1:]) % 5 == 0:
                        report = failure(name, attempt, retry=True)
                    else:
                        report, ended = success(name, attempt), ended + 1
                    await replica.finishing.report_one("ns", worker, report)

        fillers = [asyncio.create_task(fill(replica)) for replica in (one, two)]
        await asyncio.gather(*[work(each, f"w{n}") for n, each in enumerate((one, two, one, two))])
        held = await one.claim("keeps", 20)
        done.set()
        await asyncio.gather(*fillers)
        await asyncio.gather(one.placing.close(), two.placing.close())
        await one.placing.refill(Q)
        assert await one.lane.sizes(Q) == (await one.rows_in("queued"), 0, len(held))
        assert len(held) == 20
        while await one.claim("drains", 50):
            pass
        assert await one.rows_in("queued") == 0

    replicas.run(test)
