"""Who sees the pages: every route under /ui with every kind of cookie. The matrix is their route table itself."""

import re

import pytest

from lakeshore_controlplane.api.ui.routes import ENDPOINTS
from lakeshore_controlplane.documents import SCOPES

ROUTES = [(endpoint, path) for endpoint in ENDPOINTS for path in endpoint.paths]
OPEN = {("GET", "/ui/login"), ("GET", "/ui/static/{name}"), ("GET", "/ui/{rest:path}")}
"""What needs no token: the question for one, and what holds nothing."""
SHUT = [(e, p) for e, p in ROUTES if e.method == "GET" and (e.method, p) not in OPEN]
FORMS = [(e, p) for e, p in ROUTES if e.method == "POST"]


def ask(stand, endpoint, path, token=None, tenant="red", **headers):
    target = re.sub(r"\{[^}]+\}", "none", path.replace("{ns}", tenant))
    cookies = {} if token is None else {"Cookie": f"lakeshore_ui={token}"}
    return stand.stranger.send(
        endpoint.method,
        target,
        b"" if endpoint.method == "POST" else None,
        {"Content-Type": "application/x-www-form-urlencoded", **cookies, **headers},
    )


def to_login(answer):
    return answer.status == 303 and answer.headers["location"].startswith("/ui/login")


def test_every_page_belongs_to_the_matrix():
    assert len(SHUT) + len(FORMS) + len(OPEN) == len(ROUTES)
    assert all(path.startswith("/ui") for _, path in ROUTES)


@pytest.mark.parametrize("kind", ["none", "garbage", "expired", "revoked", "a header"])
def test_pages_lead_to_the_login_without_a_good_cookie(stand, kind):
    good = stand.of("red", "admin").token
    for endpoint, path in SHUT:
        if kind == "a header":
            answer = ask(stand, endpoint, path, Authorization=f"Bearer {good}")
        else:
            token = (
                {"none": None, "garbage": "dlk_" + "g" * 43}.get(kind)
                if kind in ("none", "garbage")
                else getattr(stand, kind)
            )
            answer = ask(stand, endpoint, path, token)
        assert to_login(answer), (path, answer)
        assert b"red" not in answer.body


@pytest.mark.parametrize("scope", SCOPES)
def test_a_page_of_another_tenant_is_not_found(stand, scope):
    for endpoint, path in SHUT:
        if "{ns}" in path:
            answer = ask(stand, endpoint, path, stand.of("blue", scope).token)
            assert answer.status == (
                403 if scope == "worker" or ("job" in path and scope == "operator") else 404
            )


def test_a_worker_sees_no_page(stand):
    token = stand.of("red", "worker").token
    assert {ask(stand, endpoint, path, token).status for endpoint, path in SHUT} == {403}


def test_a_form_that_no_page_of_ours_sent_changes_nothing(stand):
    token = stand.of("red", "admin").token
    for endpoint, path in FORMS:
        for headers in (
            {},
            {"Origin": "http://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Origin": "null"},
        ):
            answer = ask(stand, endpoint, path, token, **headers)
            assert answer.status == 403, (path, headers, answer)


def test_the_cookie_opens_pages_alone(stand):
    token = stand.of("red", "admin").token
    for path in ("/v1/queues", "/v1/producer/queues", "/v1/tokens"):
        assert stand.stranger.get(path, Cookie=f"lakeshore_ui={token}").status == 401


def test_the_login_leads_to_no_other_host(stand):
    for after in (
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:x",
        "%0d%0aX:1",
    ):
        answer = stand.stranger.get(f"/ui/login?next={after}", Host="evil.example")
        assert answer.status == 200
        shown = re.search(rb'name="next" value="([^"]*)"', answer.body).group(1).decode()
        assert re.fullmatch(r"(/ui[^/\\]*.*)?", shown) and "evil" not in shown.partition("?")[0], shown
