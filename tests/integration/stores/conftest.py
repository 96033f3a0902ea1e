"""What the stores' tests share: a loop to run coroutines in, and a Redis that a test may freeze, fill and stop."""

import asyncio

import pytest

from servers.lane_server import LaneServer


@pytest.fixture
def runner():
    with asyncio.Runner() as one:
        yield one


@pytest.fixture(scope="module")
def _own_redis():
    with LaneServer() as server:
        yield server


@pytest.fixture
def own_redis(_own_redis):
    _own_redis.ensure()
    return _own_redis
