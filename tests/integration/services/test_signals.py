"""Signals of queues, and the tallies among them that outlive the rows."""

import asyncio
import time

import pytest

from claim_replica import failure, success
from keeping_replica import KeepingReplicas
from lakeshore_controlplane.services.topics import change_topic
from lakeshore_controlplane.store.bells.port import Ring
from lakeshore_controlplane.store.lane.port import LaneDownError, QueueKey

Q = QueueKey("ns", "q")


@pytest.fixture
def replicas(mongo_url, mongo_database, tmp_path):
    return KeepingReplicas(mongo_url, mongo_database, tmp_path)


async def counts(one, *names):
    found = await one.signals.read("ns", "q")
    return tuple(found[name] for name in names)


def test_signals_of_a_queue_without_rows(replicas):
    async def test(one):
        found = await one.signals.read("ns", "q")
        assert found | {"revision": 0} == {
            "queue": "q",
            "queued": 0,
            "delayed": 0,
            "leased": 0,
            "oldest_age_s": 0.0,
            "arrived": 0,
            "finished": 0,
            "mean_duration_s": None,
            "as_of": replicas.clock.steady(),
            "revision": 0,
        }

    replicas.run(test)


def test_signals_follow_the_rows(replicas):
    async def test(one):
        await one.submit("a", "b", "c", "d")
        await one.submit("late", delay_s=60)
        await one.submit("foreign", namespace="other")
        await one.submit("foreign", queue="other")
        replicas.clock.advance(10)
        await one.claim("w", 2, lease_s=100)
        replicas.clock.advance(4)
        await one.finish(success("a"))
        assert await counts(one, "queued", "delayed", "leased") == (2, 1, 1)
        assert await counts(one, "arrived", "finished", "mean_duration_s") == (5, 1, pytest.approx(4))
        assert await counts(one, "oldest_age_s") == (pytest.approx(14),)

    replicas.run(test)


def test_signals_need_no_claim_to_see_what_could_start(replicas):
    """With no worker alive nothing claims, and the controller must still see the work."""

    async def test(one):
        await one.submit("late", delay_s=60)
        await one.submit("lost")
        await one.claim("killed", 1, lease_s=30)
        await one.signals.read("ns", "q")
        replicas.clock.advance(70)
        assert await counts(one, "queued", "delayed", "leased") == (2, 0, 0)
        assert await counts(one, "oldest_age_s") == (pytest.approx(40),)

    replicas.run(test)


def test_the_mean_duration_is_kept_and_follows_change(replicas):
    async def test(one, two):
        async def run(name, seconds, replica):
            await replica.submit(name)
            await replica.claim("w", 1, lease_s=1e6)
            replicas.clock.advance(seconds)
            await replica.finish(success(name))

        for number, seconds in enumerate((1, 2, 6)):
            await run(f"a{number}", seconds, (one, two)[number % 2])
        await asyncio.gather(one.statistics.flush(), two.statistics.flush())
        assert await counts(one, "finished", "mean_duration_s") == (3, pytest.approx(3))
        replicas.clock.advance(3600)
        assert await one.retention.purge("ns", 1) == 3
        assert await counts(one, "finished", "mean_duration_s") == (3, pytest.approx(3))
        for number in range(400):
            one.statistics.finished(Q, 1, 10.0)
            if number % 40 == 0:
                await one.statistics.flush()
        assert (await one.statistics.read(Q)).mean_duration_s == pytest.approx(10, rel=0.15)

    replicas.run(test)


def test_tallies_of_many_replicas_add_up(replicas):
    async def test(one, two):
        for _ in range(20):
            for replica in (one, two):
                replica.statistics.arrived(Q, 3)
                replica.statistics.finished(Q, 1, 2.0)
            await asyncio.gather(one.statistics.flush(), two.statistics.flush())
        assert await one.statistics.read(Q) == (120, 40, pytest.approx(2.0))

    replicas.run(test)


def test_what_was_counted_in_an_outage_is_written_after_it(replicas):
    async def test(one):
        rows, one.statistics._rows = one.statistics._rows, Broken()
        one.statistics.arrived(Q, 3)
        with pytest.raises(ConnectionError):
            await one.statistics.flush()
        one.statistics.arrived(Q, 1)
        one.statistics._rows = rows
        assert (await one.statistics.read(Q)).arrived == 4
        await one.statistics.flush()
        assert (await one.statistics.read(Q)).arrived == 4

    replicas.run(test)


class Broken:
    async def add(self, increments, now):
        raise ConnectionError


def test_every_change_of_a_queue_changes_its_revision(replicas):
    async def test(one):
        seen = []

        async def changed(what):
            ends = time.monotonic() + 2  # lanes are told of ends a moment later
            while (now := (await counts(one, "revision"))[0]) in seen:
                assert time.monotonic() < ends, f"{what} did not change the revision"
            seen.append(now)

        await changed("nothing yet")
        await one.submit("a", "b")
        await changed("submit")
        await one.claim("w", lease_s=5)
        await changed("claim")
        await one.leasing.release("ns", "w", ["a"])
        await changed("release")
        ((_, attempt),) = await one.claim("w", lease_s=5)
        await changed("claim")
        await one.finish(failure("a", attempt, retry=True))
        await changed("failure")
        await one.cancelling.cancel("ns", ["b"])
        await changed("cancel")
        await one.queues.set_state("ns", "q", "paused")
        await changed("pause")
        await one.submit("other", queue="other")
        assert await counts(one, "revision") == (seen[-1],)

    replicas.run(test)


def test_a_wait_is_answered_when_something_changes_and_not_before(replicas):
    async def test(one):
        first = await one.signals.read("ns", "q")
        waiting = asyncio.create_task(one.signals.read("ns", "q", since=first["revision"], wait_s=20))
        done, _ = await asyncio.wait({waiting}, timeout=0.2)
        assert not done
        await one.queues.declare("ns", "q", {})
        async with asyncio.timeout(5):
            assert (await waiting)["revision"] != first["revision"]

    replicas.run(test)


def test_a_wait_is_answered_when_the_revision_moves_after_the_bell(replicas):
    async def test(one):
        first = await one.signals.read("ns", "q")
        waiting = asyncio.create_task(one.signals.read("ns", "q", since=first["revision"], wait_s=20))
        await asyncio.wait({waiting}, timeout=0.1)
        one.bells.ring([Ring(change_topic(Q))])
        await asyncio.wait({waiting}, timeout=0.02)
        await one.lane.revision(Q, advance=True)
        async with asyncio.timeout(2):
            await waiting

    replicas.run(test)


def test_a_wait_for_what_has_passed_is_answered_at_once_and_one_for_nothing_in_its_time(replicas):
    async def test(one):
        first = await one.signals.read("ns", "q")
        began = time.monotonic()
        await one.signals.read("ns", "q", since=first["revision"] - 1, wait_s=20)
        assert time.monotonic() - began < 5
        again = await one.signals.read("ns", "q", since=first["revision"], wait_s=0.2)
        assert again["revision"] == first["revision"]

    replicas.run(test)


def test_a_storm_of_readers_costs_a_few_counts(replicas):
    async def test(one):
        await one.submit("a")
        counted = []
        count = one.signals._counts.of_queue

        async def of_queue(*asked):
            counted.append(asked)
            return await count(*asked)

        one.signals._counts.of_queue = of_queue
        found = await asyncio.gather(*(one.signals.read("ns", "q") for _ in range(200)))
        assert {answer["queued"] for answer in found} == {1}
        assert len(counted) == 1
        await one.submit("b")
        assert (await one.signals.read("ns", "q"))["queued"] == 2

    replicas.run(test)


def test_without_a_lane_counts_are_right_and_waits_do_not_spin(replicas):
    async def test(one):
        await one.submit("a")
        one.signals._revisions._lane = Down()
        first = await one.signals.read("ns", "q")
        assert first["queued"] == 1
        began = time.monotonic()
        await one.signals.read("ns", "q", since=first["revision"], wait_s=20)
        assert 0.3 < time.monotonic() - began < 5

    replicas.run(test)


class Down:
    async def revision(self, queue, *, advance=False):
        raise LaneDownError
