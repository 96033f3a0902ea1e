"""A server that the tests script, and planes that speak to it."""

import socket

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


@pytest.fixture
def nowhere():
    """A URL on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"
