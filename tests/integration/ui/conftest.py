"""A control plane on a real document server, people who look at it, and a browser."""

import pytest

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.http.plane import HttpDispatch
from dreamlake.lakeshore.dispatch.plane import RunConfig, Submission
from integration.ui.browser import Browser
from integration.ui.visitor import ADMIN, Visitor, admin
from servers.replica_thread import ReplicaThread


@pytest.fixture
def open_server(mongo_url, mongo_database):
    """A control plane that asks for no tokens."""
    with ReplicaThread(None, mongo_url=mongo_url, mongo_database=mongo_database, auth="off") as replica:
        yield replica


@pytest.fixture
def guarded_server(mongo_url, mongo_database):
    """A control plane with one admin token of all namespaces, ``ADMIN``."""
    with ReplicaThread(
        None, mongo_url=mongo_url, mongo_database=mongo_database, bootstrap_token=ADMIN
    ) as replica:
        yield replica


@pytest.fixture
def plane(open_server):
    made = HttpDispatch(open_server.url, timeout=10.0)
    yield made
    made.close()


@pytest.fixture
def visitor(open_server):
    return Visitor(open_server.url)


@pytest.fixture
def submit(plane):
    """``submit(*ids, queue="q", parent=None, **config)``."""

    def submit(*ids, queue="q", parent=None, **config):
        items = [Submission(name, wire.pack({}), RunConfig(**config), parent) for name in ids]
        return plane.submit_many(queue, items)

    return submit


@pytest.fixture
def token_for(guarded_server):
    """``token_for("producer", namespace="default")``: a new token; its namespace is made."""

    def token_for(*scopes, namespace="default"):
        admin(guarded_server.url, "/v1/namespaces", {"name": namespace})
        body = {"name": "test", "scopes": list(scopes)}
        return admin(guarded_server.url, f"/v1/namespaces/{namespace}/tokens", body)["token"]

    return token_for


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found
