"""What the framework answers by itself follows the contract too; the OpenAPI page describes every route."""

import json
import re

import pytest

from lakeshore_controlplane.api.app import TABLE
from security_stand import JSON, MSGPACK

ROUTES = [(endpoint, path) for endpoint in TABLE for path in endpoint.paths]
UNKNOWN = [
    "/",
    "/v1",
    "/v2/producer/submit",
    "/v1/producer",
    "/v1/producer/submitt",
    "/v1/daemon/poll/x",
    "/.env",
    "/v1/producer/submit/",
    "/v1/queues/",
    "//v1/queues",
    "/V1/queues",
    "/v1//queues",
    "/metrics/",
    "/docs/x",
    "/v1/namespaces/red/",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/v1/producer/%00",
    "/openapi.json/",
]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_path_that_is_none_is_not_found_in_the_contracts_form(stand, method):
    for path in UNKNOWN:
        for accept in (JSON, MSGPACK):
            answer = stand.root.send(method, path, headers={"Accept": accept, "Host": "evil.example"})
            assert (answer.status, answer.error) == (404, "not_found"), (path, answer)
            assert answer.headers["content-type"] == accept
            assert "location" not in answer.headers


def test_an_error_of_a_daemon_or_producer_path_is_msgpack_unless_json_is_asked_for(stand):
    for path, media in (("/v1/daemon/x", MSGPACK), ("/v1/producer/x", MSGPACK), ("/v1/x", JSON)):
        assert stand.stranger.get(path, Accept="*/*").headers["content-type"] == media


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_a_method_that_a_path_has_not_is_refused_with_those_that_it_has(stand, method):
    there = {}
    for endpoint, path in ROUTES:
        there.setdefault(re.sub(r"\{\w+(:path)?\}", "x", path), set()).add(endpoint.method)
    for path, methods in there.items():
        if method in methods:
            continue
        answer = stand.stranger.send(method, path)
        assert (answer.status, answer.error) == (405, "method_not_allowed"), (path, answer)
        assert methods <= {name.strip() for name in answer.headers["allow"].split(",")}


def test_head_answers_as_get_does_without_its_body(stand):
    for path in ("/healthz", "/metrics"):
        answer = stand.stranger.send("HEAD", path)
        assert (answer.status, answer.body) == (200, b"")
    assert stand.stranger.send("HEAD", "/v1/queues").status == 401
    assert stand.stranger.send("HEAD", "/v1/producer/submit").status == 405


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"GET /healthz\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"FOO /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nBad Header\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nA: b\x00c\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
)
def test_what_is_hardly_http_ends_without_a_mistake_of_ours(stand, data):
    found = stand.stranger.raw(data)
    assert not found or found.split()[1] in (b"200", b"400", b"404", b"405"), found
    assert stand.stranger.get("/healthz").status == 200


@pytest.fixture(scope="module")
def page(stand):
    answer = stand.stranger.get("/openapi.json")
    assert answer.status == 200
    return answer.value


def test_the_openapi_page_describes_every_route(page):
    described = {(method.upper(), path) for path, methods in page["paths"].items() for method in methods}
    assert described == {(endpoint.method, path.replace(":path}", "}")) for endpoint, path in ROUTES}
    for path, methods in page["paths"].items():
        for operation in methods.values():
            named = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path))
            assert operation["summary"]
            assert operation["responses"]


def test_the_openapi_page_says_which_routes_need_a_token_and_a_body(page):
    for endpoint, path in ROUTES:
        operation = page["paths"][path.replace(":path}", "}")][endpoint.method.lower()]
        assert ("security" in operation) == bool(endpoint.scopes)
        if endpoint.body is not None:
            assert set(operation["requestBody"]["content"]) == {MSGPACK, JSON}
        for scope in endpoint.scopes:
            assert scope in operation["description"]


def test_the_openapi_pages_references_resolve_and_its_names_are_unique(page):
    for ref in set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(page))):
        found = page
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
    names = [operation["operationId"] for methods in page["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


def test_open_pages_need_and_show_no_secret(stand):
    for path in ("/openapi.json", "/docs", "/redoc", "/docs/oauth2-redirect"):
        answer = stand.stranger.get(path)
        assert answer.status == 200
        for secret in (
            stand.root.token,
            stand.replica.settings.mongo_database,
            stand.replica.settings.blob_folder,
        ):
            assert secret.encode() not in answer.body
