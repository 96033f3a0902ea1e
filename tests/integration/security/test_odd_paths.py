"""Paths and queries that no client of ours sends: not found, refused or meaningless, never a mistake of the server."""

import pytest

from security_stand import check


@pytest.fixture(scope="module")
def admin(stand):
    return stand.of("red", "admin")


PATHS = [
    "/v1/producer/queues/{}",
    "/v1/producer/queues/{}/signals",
    "/v1/daemon/queues/{}/next-due",
    "/v1/producer/invocations/{}/result/stream?timeout_s=0",
    "/v1/producer/payloads/{}",
    "/v1/producer/code-repos/{}/archive",
    "/v1/daemon/code-repos/{}/archive",
    "/v1/queues/{}",
    "/v1/queues/{}/elasticity-events",
    "/v1/namespaces/{}/queues",
]
PARTS = [
    "%00",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%2f",
    "%ff%fe",
    "%c0%af",
    "%ed%a0%80",
    "a%0d%0aX-Evil:%201",
    "%",
    "%zz",
    "$where",
    "%7b%22$gt%22:%22%22%7d",
    "a" * 5000,
    "%F0%9F%98%80",
    "%E2%80%AE",
    "a%20b",
    "*",
    "~",
    "'",
    ";",
    "args.5." + "0" * 64 + ".x",
    "payload.5." + "0" * 64 + ".%2e%2e",
    "//",
    "a/b/c",
    "?",
    "a?limit=%00",
    "a#b",
]


@pytest.mark.parametrize("path", PATHS)
def test_an_odd_part_of_a_path_is_not_found_or_refused(admin, path):
    for part in PARTS:
        answer = check(admin.get(path.format(part)), part)
        assert answer.status in (200, 400, 404, 405), (part, answer)
        assert "x-evil" not in answer.headers
        if part.startswith(("%00", "%2e", "%ff")):
            assert answer.status >= 400, part


QUERIES = [
    "limit=0",
    "limit=-1",
    "limit=1e3",
    "limit=",
    "limit=NaN",
    "limit=99999999999999999999",
    "limit=" + "9" * 5000,
    "limit=%00",
    "limit=1&limit=x",
    "limit[$gt]=1",
    "wait_s=nan",
    "wait_s=inf",
    "wait_s=-1",
    "wait_s=1e400",
    "since=-2",
    "since=x",
    "since=0x10",
    "timeout_s=nan",
    "queue=%00",
    "queue[$ne]=x",
    "state=$where",
    "root=%ff",
    "queue=" + "q" * 5000,
    "%00=%00",
    "=&=&;",
    "a" * 5000,
    "verbose=%F0%9F%98%80",
]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/producer/invocations",
        "/v1/producer/queues/odd/signals",
        "/v1/producer/invocations/odd-1/result/stream",
        "/v1/events",
        "/v1/workers",
        "/v1/queues/odd/elasticity-events",
    ],
)
def test_odd_queries_are_refused_or_mean_nothing(admin, path):
    for query in QUERIES:
        asked = f"{query}&timeout_s=0" if "stream" in path and "timeout_s" not in query else query
        answer = check(admin.get(f"{path}?{asked}"), query)
        assert answer.status in (200, 400, 404), (query, answer)
