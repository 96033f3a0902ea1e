"""The register of workers: heartbeats, what they hold, orders, and workers that vanish."""

import pytest

from claim_replica import success
from keeping_replica import KeepingReplicas
from lakeshore_controlplane.faults import NotFound


@pytest.fixture
def replicas(mongo_url, mongo_database, tmp_path):
    return KeepingReplicas(mongo_url, mongo_database, tmp_path)


async def hello(one, name="w", namespace="ns", **changes):
    fields = {"queues": ["q"], "host": "h", "pid": 1, "state": "active", "concurrency": 2, **changes}
    return await one.workers.hello(namespace, worker_id=name, **fields)


async def only(one):
    (found,) = await one.workers.list("ns")
    return found


def test_workers_are_listed_oldest_first_with_what_they_hold(replicas):
    async def test(one):
        await hello(one, "w1", tags=["gpu"])
        replicas.clock.advance(1)
        await hello(one, "w2", queues=["other"], state="starting")
        await hello(one, "elsewhere", namespace="other")
        await one.submit("a", "b")
        await one.claim("w1", 2)
        found = await one.workers.list("ns")
        assert [(w["id"], w["queue"], w["leased"], w["state"]) for w in found] == [
            ("w1", "q", 2, "active"),
            ("w2", "other", 0, "starting"),
        ]
        assert found[0]["tags"] == ["gpu"]
        assert [w["id"] for w in await one.workers.list("ns", queue="other")] == ["w2"]
        await one.workers.goodbye("ns", "w1")
        await one.workers.goodbye("ns", "unknown")
        assert [w["id"] for w in await one.workers.list("ns")] == ["w2"]

    replicas.run(test)


def test_a_worker_is_idle_since_its_last_end(replicas):
    async def test(one):
        began = replicas.clock.steady()
        await hello(one, started_at=began)
        replicas.clock.advance(10)
        assert (await only(one))["idle_since"] == began
        await one.submit("a", "b")
        await one.claim("w", 2, lease_s=1000)
        assert (await only(one))["idle_since"] is None
        replicas.clock.advance(5)
        await one.finish(success("a"))
        assert (await only(one))["idle_since"] is None
        replicas.clock.advance(5)
        await one.finish(success("b"))
        ended = replicas.clock.steady()
        replicas.clock.advance(30)
        await hello(one, started_at=began)
        found = await only(one)
        assert (found["idle_since"], found["last_seen_at"]) == (ended, replicas.clock.steady())

    replicas.run(test)


def test_a_worker_that_only_polls_becomes_active_and_stays_seen(replicas):
    async def test(one):
        await hello(one, state="starting")
        assert (await only(one))["state"] == "starting"
        await one.workers.at_poll("ns", "w")
        assert (await only(one))["state"] == "active"
        for _ in range(10):
            replicas.clock.advance(9)
            await one.workers.at_poll("ns", "w")
        found = await only(one)
        assert not found["stale"]
        assert replicas.clock.steady() - found["last_seen_at"] <= 10

    replicas.run(test)


def test_a_worker_that_gives_no_sign_is_stale_after_a_minute_and_forgotten_after_a_day(replicas):
    async def test(one):
        await hello(one)
        replicas.clock.advance(59)
        assert not (await only(one))["stale"]
        replicas.clock.advance(2)
        assert (await only(one))["stale"]
        replicas.clock.advance(86_000)
        assert await one.workers.sweep() == 0
        replicas.clock.advance(1_000)
        assert await one.workers.sweep() == 1
        assert await one.workers.list("ns") == []

    replicas.run(test)


def test_orders_reach_a_worker_on_every_replica_within_seconds(replicas):
    async def test(one, two):
        assert await hello(one, started_at=1.0) is False
        assert await two.workers.at_poll("ns", "w") == (False, False)
        await one.workers.cordon("ns", "w", cordoned=True)
        assert (await one.workers.at_poll("ns", "w")).cordoned
        replicas.clock.advance(5.1)
        assert (await two.workers.at_poll("ns", "w")).cordoned
        await one.workers.cordon("ns", "w", cordoned=False)
        await one.workers.drain("ns", "w")
        assert await one.workers.at_poll("ns", "w") == (True, False)
        assert await one.workers.shall_drain("ns", "w")
        assert await hello(one, started_at=1.0) is True
        assert (await only(one))["state"] == "draining"

    replicas.run(test)


def test_an_order_does_not_bind_the_next_process_of_that_name_but_a_cordon_does(replicas):
    async def test(one):
        await hello(one, started_at=1.0)
        await one.workers.drain("ns", "w")
        await one.workers.cordon("ns", "w", cordoned=True)
        assert await hello(one, started_at=500.0) is False
        assert await one.workers.at_poll("ns", "w") == (False, True)
        assert (await only(one))["idle_since"] == replicas.clock.steady()

    replicas.run(test)


def test_another_tenants_worker_takes_no_orders(replicas):
    async def test(one):
        await hello(one)
        for order in (
            one.workers.cordon("other", "w", cordoned=True),
            one.workers.drain("other", "w"),
        ):
            with pytest.raises(NotFound, match="no worker 'w'"):
                await order
        assert await one.workers.at_poll("ns", "w") == (False, False)
        assert not await one.workers.shall_drain("other", "w")

    replicas.run(test)


def test_what_was_noted_is_written_after_an_outage(replicas):
    async def test(one):
        await hello(one)
        replicas.clock.advance(7)
        one.workers.idle("ns", "w")
        rows, one.workers._rows = one.workers._rows, Broken()
        with pytest.raises(ConnectionError):
            await one.workers.flush()
        one.workers._rows = rows
        assert (await only(one))["idle_since"] == replicas.clock.steady()

    replicas.run(test)


class Broken:
    async def advance(self, times):
        raise ConnectionError


def test_report_06_jobs_recover_when_a_record_vanishes_and_a_pod_restarts_with_the_same_host_id(replicas):
    async def test(one):
        await hello(one, "pod-0", pid=1, started_at=1.0)
        await one.submit("a", "b")
        assert await one.claim("pod-0", 2, lease_s=30) == [("a", 1), ("b", 1)]
        await one.database.collection("workers").delete_many({})
        replicas.clock.advance(3)
        await hello(one, "pod-0", pid=1, started_at=4.0)
        assert (await only(one))["leased"] == 2
        assert await one.claim("pod-0", 2) == []
        replicas.clock.advance(28)
        await one.expiring.settle_all()
        assert await one.claim("pod-0", 2) == [("a", 2), ("b", 2)]
        await one.finish(success("a", 2), success("b", 2), worker="pod-0")
        assert [await one.state(i) for i in ("a", "b")] == ["succeeded", "succeeded"]

    replicas.run(test)
