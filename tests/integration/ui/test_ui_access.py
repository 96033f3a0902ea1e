"""Who gets in, what the browser keeps, and that no other site can act in somebody's name."""

import logging

import pytest

from integration.ui.visitor import ADMIN, Visitor, admin

QUEUE = "/ui/ns/default/queues/q"


@pytest.fixture
def stranger(guarded_server):
    return Visitor(guarded_server.url)


@pytest.fixture
def enter(guarded_server):
    """``enter(token)``: somebody who is logged in."""

    def enter(token):
        found = Visitor(guarded_server.url)
        assert found.login(token).status == 303
        return found

    return enter


@pytest.fixture
def queue(guarded_server):
    admin(guarded_server.url, "/v1/queues", {"name": "q"})


def state(server):
    return admin(server.url, "/v1/queues/q")["queue"]["state"]


def test_who_is_not_known_is_led_to_the_login_and_back(stranger, queue):
    answer = stranger.get(f"{QUEUE}?state=failed")
    assert answer.status == 303
    login = stranger.get(answer.headers["location"])
    assert login.page.fields["next"] == f"{QUEUE}?state=failed"
    entered = stranger.post("/ui/login", {**login.page.fields, "token": f" {ADMIN}\n"})
    assert (entered.status, entered.headers["location"]) == (303, f"{QUEUE}?state=failed")
    assert stranger.get(QUEUE).status == 200


def test_the_cookie_is_for_our_pages_alone(stranger):
    answer = stranger.login(ADMIN)
    cookie = answer.headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/ui", "max-age="):
        assert part in cookie
    assert "secure" not in cookie
    api = stranger.get("/v1/queues")
    assert api.status == 401


def test_behind_https_the_cookie_is_secure(stranger):
    form = stranger.get("/ui/login", x_forwarded_proto="https").page.fields
    answer = stranger.post("/ui/login", {**form, "token": ADMIN}, x_forwarded_proto="https")
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "dlk_" + "b" * 32, "<script>x()</script>", "dlk_é" * 9, "a" * 4_000])
def test_a_wrong_token_is_refused_in_one_line(stranger, token):
    answer = stranger.login(token)
    assert answer.status == 401
    assert "unknown or was revoked" in answer.words or "enter a token" in answer.words
    assert not token or token not in answer.text
    assert "lakeshore_ui" not in stranger.cookies


def test_no_token_gets_into_the_log(stranger, caplog):
    wrong = "dlk_" + "c" * 32
    with caplog.at_level(logging.DEBUG):
        stranger.login(wrong)
        stranger.login(ADMIN)
        stranger.get("/ui")
    assert wrong not in caplog.text and ADMIN not in caplog.text


def test_logging_out_takes_the_cookie(enter):
    visitor = enter(ADMIN)
    form = visitor.get("/ui/ns/default").page.fields
    assert visitor.post("/ui/logout", form).headers["location"] == "/ui/login"
    assert "lakeshore_ui" not in visitor.cookies
    assert visitor.get("/ui").headers["location"] == "/ui/login"


def test_a_revoked_token_ends_the_visit(guarded_server, enter, token_for):
    token = token_for("producer")
    visitor = enter(token)
    assert visitor.get("/ui/ns/default").status == 200
    found = [known for known in admin(guarded_server.url, "/v1/tokens")["tokens"] if known["name"] == "test"]
    admin(guarded_server.url, f"/v1/tokens/{found[0]['id']}", method="DELETE")
    assert visitor.get("/ui/ns/default").status == 303
    assert "lakeshore_ui" not in visitor.cookies


def test_a_token_for_workers_alone_does_not_get_in(stranger, token_for):
    answer = stranger.login(token_for("worker"))
    assert answer.status == 403
    assert "use one with the scope producer or operator" in answer.words


def test_an_operator_sees_queues_and_no_jobs(guarded_server, queue, enter, token_for):
    admin(
        guarded_server.url, "/v1/producer/submit", {"invocation_id": "secret", "queue": "q", "args_blob": ""}
    )
    visitor = enter(token_for("operator"))
    answer = visitor.get(QUEUE)
    assert "Jobs are shown to tokens with the scope producer" in answer.words
    assert "secret" not in answer.words
    refused = visitor.get("/ui/ns/default/job?id=secret")
    assert refused.status == 403
    assert "it needs producer" in refused.words


def test_walls_between_namespaces_hold(guarded_server, enter, token_for):
    visitor = enter(token_for("producer", "operator", namespace="ours"))
    token_for("producer", namespace="theirs")
    assert visitor.get("/ui").headers["location"] == "/ui/ns/ours"
    for path in ("/ui/ns/theirs", "/ui/ns/theirs/queues/q", "/ui/ns/theirs/job?id=a", "/ui/ns/default"):
        answer = visitor.get(path)
        assert answer.status == 404
        assert "there is no namespace" in answer.words
    assert visitor.get("/ui?ns=theirs").status == 404
    assert not visitor.get("/ui/ns/ours").page.all("option")
    assert "theirs" not in visitor.get("/ui/ns/ours").text


def test_a_token_of_all_namespaces_chooses(enter, token_for):
    token_for("producer", namespace="ours")
    token_for("producer", namespace="theirs")
    visitor = enter(ADMIN)
    page = visitor.get("/ui/ns/ours").page
    assert [option["value"] for option in page.all("option")] == ["default", "ours", "theirs"]
    assert [option["value"] for option in page.all("option") if "selected" in option] == ["ours"]
    assert visitor.get("/ui?ns=theirs").headers["location"] == "/ui/ns/theirs"


def test_buttons_move_a_queue_through_its_lifecycle(guarded_server, queue, enter, token_for):
    visitor = enter(token_for("operator"))
    for verb, after in [
        ("pause", "paused"),
        ("resume", "active"),
        ("drain", "draining"),
        ("archive", "archived"),
        ("unarchive", "active"),
    ]:
        actions = [form["action"] for form in visitor.get(QUEUE).page.all("form")]
        assert f"{QUEUE}/{verb}" in actions
        answer = visitor.press(QUEUE, verb)
        assert (answer.status, answer.headers["location"]) == (303, QUEUE)
        assert state(guarded_server) == after
    assert "cannot be done to a queue" in visitor.press(QUEUE, "explode").words


def test_who_may_not_move_a_queue_has_no_buttons(guarded_server, queue, enter, token_for):
    visitor = enter(token_for("producer"))
    page = visitor.get(QUEUE).page
    assert [form["action"] for form in page.all("form")] == ["/ui/logout"]
    answer = visitor.post(f"{QUEUE}/pause", page.fields)
    assert answer.status == 403
    assert state(guarded_server) == "active"


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
)
def test_a_form_from_another_site_changes_nothing(guarded_server, queue, enter, headers):
    visitor = enter(ADMIN)
    fields = visitor.get(QUEUE).page.fields
    answer = visitor.post(f"{QUEUE}/pause", fields, **headers)
    assert answer.status == 403
    assert "the form came from another site" in answer.words
    assert state(guarded_server) == "active"


@pytest.mark.parametrize("key", [None, "", "0" * 64, "é"])
def test_a_form_without_our_key_changes_nothing(guarded_server, queue, enter, key):
    visitor = enter(ADMIN)
    answer = visitor.post(f"{QUEUE}/pause", {} if key is None else {"form_key": key})
    assert answer.status == 403
    assert state(guarded_server) == "active"
    assert visitor.post("/ui/logout", {}).status == 403


def test_another_visitor_s_key_changes_nothing(guarded_server, queue, enter, token_for):
    other = enter(token_for("admin"))
    fields = enter(ADMIN).get(QUEUE).page.fields
    assert other.post(f"{QUEUE}/pause", fields).status == 403
    assert state(guarded_server) == "active"


def test_nobody_is_logged_in_by_another_site(stranger):
    assert stranger.post("/ui/login", {"token": ADMIN}).status == 403
    assert not stranger.cookies


def test_a_get_changes_nothing(guarded_server, queue, enter):
    assert enter(ADMIN).get(f"{QUEUE}/pause").status == 404
    assert state(guarded_server) == "active"


@pytest.mark.parametrize("body", ["a" * 9_000, "\xff", "&" * 100 + "=" * 9])
def test_an_odd_form_is_refused(stranger, body):
    stranger.get("/ui/login")
    answer = stranger.post("/ui/login", body.encode("latin-1"))
    assert answer.status in (400, 403, 413)
    assert answer.page.all("p")


def test_without_tokens_everybody_is_in_and_forms_are_still_ours(open_server, visitor):
    admin(open_server.url, "/v1/queues", {"name": "q"})
    assert visitor.get("/ui/login?next=/ui/ns/default").headers["location"] == "/ui/ns/default"
    assert "Log out" not in visitor.get(QUEUE).words
    assert Visitor(open_server.url).post(f"{QUEUE}/pause", {}).status == 403
    assert visitor.press(QUEUE, "pause").status == 303
    assert state(open_server) == "paused"


def test_every_page_has_its_headers(stranger, enter, queue):
    logged_in = enter(ADMIN)
    for visitor, path in [
        (stranger, "/ui/login"),
        (stranger, "/ui"),
        (logged_in, "/ui/ns/default"),
        (logged_in, QUEUE),
        (logged_in, "/ui/ns/default/job?id=none"),
        (logged_in, "/ui/static/none"),
    ]:
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"


def test_static_files_are_ours_kept_by_browsers_and_without_a_login(stranger):
    page = stranger.get("/ui/login").page
    files = [link["href"] for link in page.all("link")] + [script["src"] for script in page.all("script")]
    assert len(files) == 3
    for path in files:
        answer = stranger.get(path)
        assert answer.status == 200
        assert "immutable" in answer.headers["cache-control"]
        assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in answer.text
    assert stranger.get("/ui/static/ui.css?v=old").headers["cache-control"] == "no-cache"
    assert stranger.get("/ui/static/..%2f__init__.py").status == 404
