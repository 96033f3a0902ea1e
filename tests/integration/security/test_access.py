"""Who gets in where: every route with every kind of token. The matrix is the route table itself."""

import re

import pytest

from lakeshore_controlplane.api.app import TABLE, make_app
from lakeshore_controlplane.api.ui.routes import ENDPOINTS
from lakeshore_controlplane.documents import SCOPES

PAGES = {"/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc"}
OPEN = {"/healthz", "/readyz", "/metrics"}
EXTRA = {
    "producer": {
        **{("POST", path): {"worker"} for path in ("/get", "/wait", "/journal/append")},
        **{("GET", path): {"worker", "operator"} for path in ("/clock", "/queues", "/queues/{queue}")},
        ("GET", "/workers"): {"operator"},
        ("PUT", "/queues/{queue}"): {"operator"},
        ("POST", "/queues/{queue}/state"): {"operator"},
        ("GET", "/queues/{queue}/signals"): {"worker", "operator"},
        ("POST", "/payloads"): {"worker"},
        ("PUT", "/payloads/{ref:path}"): {"worker"},
        ("GET", "/payloads/{ref:path}"): {"worker"},
    },
    "daemon": {},
    "admin": {
        **{("GET", path): {"operator"} for path in ("/queues", "/queues/{queue}", "/workers", "/events")},
        ("POST", "/queues"): {"operator"},
        ("PATCH", "/queues/{queue}"): {"operator"},
        **{
            ("POST", f"/queues/{{queue}}/{verb}"): {"operator"}
            for verb in ("drain", "archive", "unarchive", "pause", "resume")
        },
        **{("POST", f"/workers/{{worker}}/{verb}"): {"operator"} for verb in ("cordon", "uncordon", "drain")},
        ("GET", "/queues/{queue}/elasticity-events"): {"operator", "producer"},
        ("POST", "/queues/{queue}/elasticity-events"): {"operator"},
    },
}
"""The scopes that the contract lets in besides the one of the part that a route belongs to."""
FOR_ALL = {"POST /v1/namespaces", "DELETE /v1/namespaces/{ns}"}
"""What only the admin of all namespaces may do."""
PART = {"producer": "producer", "daemon": "worker", "admin": "admin"}
ROUTES = [(endpoint, path) for endpoint in TABLE for path in endpoint.paths]
GUARDED = [(endpoint, path) for endpoint, path in ROUTES if path not in OPEN]
NAMED = [(endpoint, path) for endpoint, path in GUARDED if "{ns}" in path]


def part_of(path):
    """Which part of the contract a path belongs to, and its path there."""
    rest = re.sub(r"^/v1(/namespaces/\{ns\}(?=/))?", "", path)
    for part in ("producer", "daemon"):
        if rest.startswith(f"/{part}/"):
            return part, rest.removeprefix(f"/{part}")
    return "admin", rest


def let_in(endpoint, path):
    """The scopes that the contract lets in."""
    part, rest = part_of(path)
    return {PART[part], "admin"} | EXTRA[part].get((endpoint.method, rest), set())


def target_of(path, tenant="red"):
    """Fill in a path; nothing is called ``none``."""
    return re.sub(r"\{[^}]+\}", "none", path.replace("{ns}", tenant))


def ask(caller, endpoint, path, tenant="red", **headers):
    body = b"{}" if endpoint.method in ("POST", "PUT", "PATCH") else None
    return caller.send(
        endpoint.method,
        target_of(path, tenant),
        body,
        {"Content-Type": "application/json", **headers},
    )


def refused(found, status, kind):
    """Fail with the route that let somebody in."""
    return [
        f"{route}: {answer.status} {answer.body[:120]!r}"
        for route, answer in found
        if not (answer.status == status and answer.error == kind)
    ]


def named(endpoint, path):
    return f"{endpoint.method} {path}"


def test_no_route_exists_beside_the_table(stand):
    served = {
        (method, route.path)
        for route in make_app(stand.replica.plane).routes
        for method in getattr(route, "methods", None) or {"*"}
        if method != "HEAD" and route.path not in PAGES
    }
    pages = [(endpoint.method, path) for endpoint in ENDPOINTS for path in endpoint.paths]
    routes = [(endpoint.method, path) for endpoint, path in ROUTES]
    assert served == {*pages, *routes}
    assert len(served) == len(pages) + len(routes)


def test_only_health_and_metrics_are_open():
    assert {path for endpoint, path in ROUTES if not endpoint.scopes} == OPEN


def test_the_table_asks_for_the_scopes_of_the_contract():
    wrong = [
        f"{named(endpoint, path)}: {sorted(endpoint.scopes)}"
        for endpoint, path in GUARDED
        if {*endpoint.scopes, "admin"} != let_in(endpoint, path)
    ]
    assert not wrong


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic cmVkOnJlZA==",
        "bearer dlk_",
        "Bearer dlk_" + "A" * 43,
        "Bearer dlk_" + "A" * 5000,
        "Bearer dle_" + "A" * 43,
        "Bearer \xe4\xf6\xfc",
        "Bearer dlk_$gt:" + "A" * 40,
        "expired",
        "revoked",
    ],
)
def test_without_a_good_token_every_route_is_shut(stand, header):
    if header in ("expired", "revoked"):
        header = f"Bearer {getattr(stand, header)}"
    headers = {} if header is None else {"Authorization": header}
    found = [
        (named(endpoint, path), ask(stand.stranger, endpoint, path, **headers)) for endpoint, path in GUARDED
    ]
    assert not refused(found, 401, "unauthorized")
    assert all(answer.headers["www-authenticate"] == "Bearer" for _, answer in found)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_opens_its_routes_and_no_others(stand, scope):
    caller = stand.of("red", scope)
    shut, let = [], []
    for endpoint, path in GUARDED:
        known = let if scope in let_in(endpoint, path) else shut
        known.append((named(endpoint, path), ask(caller, endpoint, path)))
    assert not refused(shut, 403, "forbidden")
    strange = [
        f"{route}: {answer.status} {answer.body[:120]!r}"
        for route, answer in let
        if answer.status in (401, 405)
        or answer.status >= 500
        or (answer.status == 403 and route not in FOR_ALL)
    ]
    assert not strange


@pytest.mark.parametrize("scope", SCOPES)
def test_another_tenants_path_is_not_found_whatever_the_scope(stand, scope):
    caller = stand.of("blue", scope)
    there = [(named(e, p), ask(caller, e, p, tenant="red")) for e, p in NAMED]
    nowhere = [(named(e, p), ask(caller, e, p, tenant="nowhere")) for e, p in NAMED]
    assert not refused(there, 404, "not_found")
    assert [a.body.replace(b"red", b"nowhere") for _, a in there] == [a.body for _, a in nowhere]


def test_a_namespace_that_is_not_there_is_not_found_by_the_admin_of_all(stand):
    found = [(named(e, p), ask(stand.root, e, p, tenant="nowhere")) for e, p in NAMED]
    assert not refused(found, 404, "not_found")


def test_tricks_with_the_namespace_in_the_path_lead_nowhere(stand):
    caller = stand.of("blue", "admin")
    for trick in ("blue%2Fred", "red%00", "*", "%2A", "..", "blue/../red", "red%20", "RED", "blue%0Ared"):
        answer = caller.get(f"/v1/namespaces/{trick}/tokens")
        assert (answer.status, answer.error) == (404, "not_found"), trick


def test_open_routes_take_any_token_and_none(stand):
    for path in sorted(OPEN):
        for headers in ({}, {"Authorization": "Bearer nonsense"}):
            assert stand.stranger.get(path, **headers).status == 200


def test_a_server_without_tokens_is_open_only_where_it_was_asked_for(stand):
    assert stand.replica.settings.auth == "tokens"
    assert stand.stranger.get("/v1/queues").status == 401
