"""A server without tokens: open to its own machine, closed to web pages of others."""

import http.client

import pytest

from hand_clock import HandClock
from servers.replica_thread import ReplicaThread


@pytest.fixture
def open_replica(mongo_url, mongo_database):
    with ReplicaThread(
        HandClock(), mongo_url=mongo_url, mongo_database=mongo_database, auth="off"
    ) as replica:
        yield replica


def ask(replica, headers, method="POST", path="/v1/queues/q/pause"):
    address = replica.url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request(method, path, headers={"Host": address, **headers})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "attacker.example"},
        {"Host": "attacker.example:8750"},
        {"Host": "127.0.0.1.attacker.example"},
        {"Host": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
    ],
)
def test_foreign_pages_and_foreign_names_are_refused(open_replica, headers):
    assert ask(open_replica, headers) == 403
    assert ask(open_replica, headers, "GET", "/v1/queues") == 403
    assert ask(open_replica, headers, "GET", "/ui") == 403


@pytest.mark.parametrize(
    "headers", [{}, {"Host": "localhost"}, {"Host": "[::1]:80"}, {"Sec-Fetch-Site": "same-origin"}]
)
def test_programs_of_this_machine_are_let_in(open_replica, headers):
    assert ask(open_replica, headers, "GET", "/v1/queues") == 200
    assert ask(open_replica, headers) == 404  # there is no such queue
