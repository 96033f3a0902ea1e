"""Redis goes away, forgets or fills up under load: work and streams go on from the rows."""

import contextlib

import fault_bodies as bodies
import pytest
import redis

JOBS = 150
FRAMES = 600


@pytest.fixture
def tune(redis_url, lane_server):
    """``tune(name=value)``: settings of Redis, put back after the test."""
    changed = {}
    with contextlib.closing(redis.Redis.from_url(redis_url, socket_timeout=10)) as client:

        def tune(**settings):
            for name, value in settings.items():
                setting = name.replace("_", "-")
                changed.update(client.config_get(setting))
                client.config_set(setting, value)

        yield tune
        lane_server.ensure()
        for setting, value in changed.items():
            client.config_set(setting, value)


@pytest.fixture
def lane(redis_url):
    with contextlib.closing(redis.Redis.from_url(redis_url, socket_timeout=10)) as client:
        yield client


@pytest.fixture
def replicas(site, redis_url):
    return site.replica(2, redis_url=redis_url)


@pytest.fixture
def producers(site, replicas):
    return site.crowd(site.balancer(*replicas).url, JOBS, frames=FRAMES)


def halfway(site, share=0.5):
    site.until(lambda: len(site.notes()) > JOBS * share, "jobs to run")


def test_redis_killed_and_restarted_under_load_loses_nothing(site, producers, lane_server):
    for share in (0.2, 0.5):
        halfway(site, share)
        lane_server.kill()
        lane_server.start()
    site.assert_nothing_lost(producers)


def test_redis_flushed_under_load_loses_nothing(site, producers, lane):
    for share in (0.2, 0.3, 0.4, 0.5, 0.6):
        halfway(site, share)
        lane.flushall()
    site.assert_nothing_lost(producers)


def test_redis_full_under_load_loses_nothing(site, producers, tune):
    halfway(site, 0.2)
    tune(maxmemory_policy="noeviction", maxmemory="1mb")
    halfway(site, 0.6)
    tune(maxmemory="0")
    site.assert_nothing_lost(producers)


def test_report_09_redis_that_evicts_under_allkeys_lru_loses_neither_jobs_nor_frames(
    site, producers, tune, lane
):
    halfway(site, 0.2)
    tune(maxmemory_policy="allkeys-lru", maxmemory=lane.info("memory")["used_memory"] + (1 << 20))
    for n in range(300):
        lane.set(f"filler:{n}", b"x" * 10_000)
    assert lane.info("stats")["evicted_keys"] > 0
    halfway(site, 0.6)
    tune(maxmemory="0")
    site.assert_nothing_lost(producers)


def test_report_31_streaming_while_redis_is_away_holds_no_memory_and_goes_on_when_it_is_back(
    site, replicas, lane_server
):
    """A replica's memory stays bounded though 40 MiB of frames pass through it and nothing takes them but the rows."""
    front = site.balancer(*replicas)
    worker = site.worker(front.url)
    queue = site.queue(front.url)
    assert sum(1 for _ in queue.stream(queue.submit(bodies.blocks, 200, 16_384))) == 200
    before = [one.resident() for one in replicas]
    lane_server.kill()
    job = queue.submit(bodies.blocks, 2500, 16_384)
    got = 0
    for block in queue.stream(job):
        assert block[:4] == got.to_bytes(4, "big")
        got += 1
    assert got == 2500
    site.witness.assert_gapless(job, 2500)
    grown = [one.resident("VmHWM") - was for one, was in zip(replicas, before, strict=True)]
    assert max(grown) < 30 << 20, f"the replicas grew by {grown} bytes"

    lane_server.start()
    site.until(
        lambda: all("Redis answers again" in one.log_tail() for one in replicas), "Redis to be noticed"
    )
    assert queue.result(queue.submit(bodies.double, 4)) == 8
    assert worker.runs
