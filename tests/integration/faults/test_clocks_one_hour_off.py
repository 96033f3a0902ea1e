"""Machines whose wall clocks are an hour off: leases, delays and deadlines are as everywhere else."""

import time

import pytest

from dreamlake.lakeshore.dispatch.plane import RunConfig

HOUR_S = 3600.0


@pytest.fixture
def fast(site, redis_url):
    return site.replica(redis_url=redis_url, skew_s=HOUR_S)


@pytest.fixture
def slow(site, redis_url):
    return site.replica(redis_url=redis_url, skew_s=-HOUR_S)


def timed(site, condition, what):
    began = time.monotonic()
    return site.until(condition, what), time.monotonic() - began


def test_report_32_clocks_an_hour_off_move_no_lease_no_delay_and_no_deadline(site, fast, slow):
    ahead, behind = site.plane(fast.url), site.plane(slow.url)
    assert abs(ahead.now() - time.time()) < 2
    assert abs(behind.now() - time.time()) < 2

    ahead.submit("default", b"e", id="leased")
    assert ahead.claim("default", "w", lease_s=1.5).attempt == 1
    ahead.submit("default", b"e", id="delayed", config=RunConfig(delay_s=1.0))
    assert behind.claim("default", "w2") is None
    job, took_s = timed(site, lambda: behind.claim("default", "w2"), "the delayed job")
    assert (job.id, took_s < 3) == ("delayed", True)
    assert took_s > 0.7
    job, took_s = timed(site, lambda: behind.claim("default", "w2"), "the lease to end")
    assert (job.id, job.attempt, took_s < 3) == ("leased", 2, True)

    behind.submit("default", b"e", id="near", config=RunConfig(deadline=time.time() + 1))
    ahead.submit("default", b"e", id="far", config=RunConfig(deadline=time.time() + HOUR_S / 2))
    ahead.set_queue_state("default", "paused")
    _, took_s = timed(site, lambda: behind.get("near")["state"] == "failed", "the deadline")
    assert 0.7 < took_s < 4
    assert ahead.get("far")["state"] == behind.get("far")["state"] == "queued"


def test_workers_and_producers_an_hour_off_work_on_replicas_that_are_too(site, fast, slow):
    site.worker(fast.url, "--lease", 2, skew_s=-HOUR_S)
    site.worker(slow.url, "--lease", 2, skew_s=HOUR_S)
    producers = [
        site.producer(fast.url, "jobs", 100, 0.005, skew_s=HOUR_S),
        site.producer(slow.url, "stream", 300, 0.005, skew_s=-HOUR_S),
    ]
    rows = site.assert_nothing_lost(producers)
    assert {row["attempt"] for row in rows.values()} == {1}
    now = time.time()
    assert all(now - 120 < row["submittedAt"] <= row["finishedAt"] < now + 5 for row in rows.values())
