"""A server that the tests script, and planes that speak to it."""

import pytest

from dreamlake.lakeshore.dispatch.http.plane import HttpDispatch
from http_peer import Peer


@pytest.fixture
def peer():
    made = Peer()
    yield made
    made.close()


@pytest.fixture
def connect(peer):
    opened = []

    def connect(url=None, **options):
        opened.append(HttpDispatch(url or peer.url, **{"timeout": 5.0, **options}))
        return opened[-1]

    yield connect
    for plane in opened:
        plane.close()


@pytest.fixture
def plane(connect):
    return connect()
