"""Replicas of the services that claim and end, on a real document server, with lanes in memory and in Redis."""

import asyncio
import inspect

import pytest

from claim_replica import Replica
from hand_clock import HandClock
from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.redis import RedisLane
from lakeshore_controlplane.store.mongo.database import Database
from lakeshore_controlplane.store.redis_link import RedisLink


class Replicas:
    """Opens as many replicas as a test takes, all on the same stores and by the same clock."""

    def __init__(self, mongo, lane_url=None):
        self.mongo = mongo
        self.lane_url = lane_url
        self.clock = HandClock()

    def run(self, test, **options):
        async def opened():
            database = Database(*self.mongo)
            link = RedisLink(self.lane_url, call_s=0.5, rest_s=0.05) if self.lane_url else None
            lane = RedisLane(link) if link else MemoryLane()
            made = [
                await Replica(database, lane, self.clock, **options).open()
                for _ in inspect.signature(test).parameters
            ]
            try:
                async with asyncio.timeout(60):
                    return await test(*made)
            finally:
                for one in made:
                    await one.close()
                await lane.close()
                await database.close()

        return asyncio.run(opened())


@pytest.fixture(params=["memory", "redis"])
def replicas(request, mongo_url, mongo_database):
    """``replicas.run(test)``: run ``async test(one, two, ...)`` with a replica for each of its arguments."""
    url = request.getfixturevalue("redis_url") if request.param == "redis" else None
    return Replicas((mongo_url, mongo_database), url)


@pytest.fixture
def memory_replicas(mongo_url, mongo_database):
    """The same with lanes in memory only."""
    return Replicas((mongo_url, mongo_database))


@pytest.fixture
def redis_replicas(mongo_url, mongo_database, redis_url):
    """The same with lanes in Redis only."""
    return Replicas((mongo_url, mongo_database), redis_url)
