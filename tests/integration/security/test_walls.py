"""Walls between tenants, and between workers: what one knows the id of is not there for the other."""

import base64
import hashlib

import pytest

DATA = b"of red alone" * 200_000  # more than a row takes
COMMIT = "1" * 40


@pytest.fixture(scope="module")
def red(stand):
    """Everything that the tenant red has: ids by kind."""
    admin = stand.of("red", "admin")
    for name in ("red-inv", "red-done", "red-queued"):
        body = {"invocation_id": name, "queue": name, "args_blob": b"a", "correlation_id": "c"}
        assert admin.post("/v1/producer/submit", body).status == 200
    for queue in ("red-inv", "red-done"):
        poll = {"worker_id": "red-w", "queue": queue, "lease_s": 3600.0}
        assert len(admin.post("/v1/daemon/poll", poll).value["commands"]) == 1
    ack = {"worker_id": "red-w", "invocation_id": "red-done", "state": "succeeded", "result_blob": DATA}
    assert admin.post("/v1/daemon/ack", ack).status == 200
    chunk = {"invocation_id": "red-inv", "worker_id": "red-w", "seq": 0, "bytes": b"frame"}
    assert admin.post("/v1/daemon/result-chunk", chunk).status == 200
    assert admin.post("/v1/daemon/hello", {"worker_id": "red-w", "queues": ["red-q"]}).status == 200
    assert admin.post("/v1/daemon/event", {"kind": "note", "queue": "red-q"}).status == 200
    assert admin.post_json("/v1/queues", {"name": "red-q"}).status == 200
    announced = {"size": len(DATA), "sha256": hashlib.sha256(DATA).hexdigest()}
    payload = admin.post("/v1/producer/payloads", announced).value["ref"]
    assert admin.send("PUT", f"/v1/producer/payloads/{payload}", DATA).status == 200
    outcome = admin.post("/v1/producer/await", {"invocation_id": "red-done", "accept_result_ref": True})
    repo = {**announced, "commit": COMMIT, "remote": "https://example.org/r.git"}
    code = admin.post("/v1/producer/code-repos", repo).value["code_repo_id"]
    assert admin.send("PUT", f"/v1/producer/code-repos/{code}/archive", DATA).status == 200
    return {
        "payload": payload,
        "result": outcome.value["result_ref"]["ref"],
        "code": code,
        "token": stand.make_token("red", "producer")["id"],
    }


def prefixes(tenant, part):
    return (f"/v1/{part}", f"/v1/namespaces/{tenant}/{part}")


def everything(caller, tenant, part, method, path, body=None):
    """Ask in both forms of the path."""
    for prefix in prefixes(tenant, part):
        target = (prefix + path).replace("//", "/")
        yield caller.post(target, body, method) if body is not None else caller.send(method, target)


def gone(answer):
    return answer.status == 404 and answer.error == "not_found"


PRODUCER = [
    ("POST", "/await", {"invocation_id": "red-done", "timeout_s": 0.0}),
    ("POST", "/get", {"invocation_id": "red-inv"}),
    ("GET", "/invocations/red-inv/result/stream?timeout_s=0", None),
    ("GET", "/payloads/{payload}", None),
    ("GET", "/payloads/{result}", None),
    ("GET", "/code-repos/{code}/archive", None),
    ("GET", "/queues/red-q", None),
    ("POST", "/queues/red-q/state", {"state": "paused"}),
    (
        "POST",
        "/submit",
        {"invocation_id": "blue-thief", "queue": "thief", "args_ref": "{payload}"},
    ),
    (
        "POST",
        "/submit",
        {"invocation_id": "blue-thief", "queue": "thief", "args_ref": "{result}"},
    ),
]


def filled(value, red):
    if isinstance(value, dict):
        return {name: filled(item, red) for name, item in value.items()}
    return value.format(**red) if isinstance(value, str) and "{" in value else value


@pytest.mark.parametrize(("method", "path", "body"), PRODUCER, ids=lambda v: str(v)[:40])
def test_what_a_tenant_has_is_not_found_by_another(stand, red, method, path, body):
    path, body = filled(path, red), filled(body, red)
    for answer in everything(stand.of("blue", "admin"), "blue", "producer", method, path, body):
        assert gone(answer), answer
    if "thief" not in str(body):
        mine = [*everything(stand.of("red", "admin"), "red", "producer", method, path, body)]
        assert [answer.status for answer in mine] == [200, 200]
    if "/state" in path:
        assert stand.of("red", "admin").post("/v1/queues/red-q/resume", {}).status == 200


ADMIN = [
    ("GET", "/queues/red-q", None),
    ("PATCH", "/queues/red-q", {"retention_s": 1.0}),
    ("DELETE", "/queues/red-q", None),
    ("POST", "/queues/red-q/drain", {}),
    ("POST", "/queues/red-q/archive", {}),
    ("POST", "/queues/red-q/pause", {}),
    ("POST", "/workers/red-w/cordon", {}),
    ("POST", "/workers/red-w/drain", {}),
    ("DELETE", "/tokens/{token}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ADMIN, ids=lambda v: str(v)[:40])
def test_what_a_tenant_has_is_not_administered_by_another(stand, red, method, path, body):
    for answer in everything(stand.of("blue", "admin"), "blue", "", method, filled(path, red), body):
        assert gone(answer), answer
    admin = stand.of("red", "admin")
    assert admin.get("/v1/queues/red-q").value["queue"]["state"] == "active"
    (worker,) = [w for w in admin.get("/v1/workers").value["workers"] if w["id"] == "red-w"]
    assert not worker["cordoned"]
    revoked = {token["id"]: token["revoked_at"] for token in admin.get("/v1/tokens").value["tokens"]}
    assert revoked[red["token"]] is None


@pytest.mark.parametrize(
    ("part", "path", "field"),
    [
        ("producer", "/invocations", "invocations"),
        ("producer", "/invocations?root=red-inv", "invocations"),
        ("producer", "/invocations?queue=red-inv", "invocations"),
        ("producer", "/queues", "queues"),
        ("producer", "/workers", "workers"),
        ("", "/workers", "workers"),
        ("", "/queues", "queues"),
        ("", "/tokens", "tokens"),
        ("", "/events", "events"),
        ("", "/queues/red-q/elasticity-events", "events"),
    ],
)
def test_lists_hold_nothing_of_another_tenant(stand, red, part, path, field):
    for answer in everything(stand.of("blue", "admin"), "blue", part, "GET", path):
        assert answer.status == 200
        assert isinstance(answer.value[field], list)
        assert b"red" not in answer.body


def test_many_ids_of_another_tenant_are_simply_not_there(stand, red):
    blue = stand.of("blue", "admin")
    ids = ["red-inv", "red-done", "red-queued"]
    for prefix in prefixes("blue", "producer"):
        assert blue.post(f"{prefix}/await-many", {"ids": ids}).value == {"ended": []}
        assert blue.post(f"{prefix}/cancel", {"ids": ids}).value == {"cancelled": []}
        assert blue.post(f"{prefix}/cancel", {"invocation_id": ids[2]}).value == {"cancelled": False}
        assert blue.post(f"{prefix}/count", {"queue": "red-queued"}).value == {"count": 0}
        read = blue.post(f"{prefix}/journal/read", {"journal": "red-inv"}).value
        assert (read["entries"], read["state"]) == ([], None)
        assert blue.post(f"{prefix}/journal/trim", {"journal": "red-inv"}).value == {"dropped": 0}
        assert blue.post(f"{prefix}/purge", {"older_than_s": 0.0}).status == 200
    admin = stand.of("red", "admin")
    assert admin.post("/v1/producer/count", {"queue": "red-queued"}).value == {"count": 1}
    assert len(admin.post("/v1/producer/journal/read", {"journal": "red-inv"}).value["entries"]) == 1


def test_a_watch_of_another_tenant_tells_nothing(stand, red):
    asked = {"ids": ["red-done"], "watch": "same-name-for-both"}
    told = stand.of("red", "producer").post("/v1/producer/await-many", asked).value
    assert [outcome["invocation_id"] for outcome in told["ended"]] == ["red-done"]
    told = stand.of("blue", "producer").post("/v1/producer/await-many", asked).value
    assert (told["ended"], told["watch"]) == ([], "new")


def test_topics_of_another_tenant_do_not_wake(stand, red):
    blue, topics = stand.of("blue", "producer"), ["done", "work:walls", "journal:red-topic"]
    names = [*topics, "journal:red/red-topic"]
    cursors = blue.post("/v1/producer/wait", {"topics": dict.fromkeys(names)}).value["cursors"]
    admin = stand.of("red", "admin")
    for body in ({"invocation_id": "walls-1", "queue": "walls", "args_blob": b""},):
        assert admin.post("/v1/producer/submit", body).status == 200
    appended = {"journal": "red-topic", "frames": [[None, b"x", False]]}
    assert admin.post("/v1/producer/journal/append", appended).status == 200
    assert admin.post("/v1/producer/cancel", {"invocation_id": "walls-1"}).value == {"cancelled": True}
    found = blue.post("/v1/producer/wait", {"topics": cursors, "timeout_s": 0.05}).value
    assert found["woken"] == []


def test_another_tenants_worker_takes_and_ends_nothing(stand, red):
    blue = stand.of("blue", "worker")
    for prefix in prefixes("blue", "daemon"):
        poll = {"worker_id": "red-w", "queues": ["red-queued", "red-inv"]}
        assert blue.post(f"{prefix}/poll", poll).value["commands"] == []
        acked = {"invocation_id": "red-inv", "state": "succeeded", "result_blob": b"x"}
        for worker in ({}, {"worker_id": "red-w"}):
            answer = blue.post(f"{prefix}/ack", {**acked, **worker})
            assert (answer.status, answer.error) == (409, "fenced")
            assert b"red-w" not in answer.body or worker
        many = {"worker_id": "red-w", "items": [acked]}
        assert blue.post(f"{prefix}/ack-many", many).value == {"fenced": ["red-inv"]}
        held = {"worker_id": "red-w", "ids": ["red-inv"]}
        assert blue.post(f"{prefix}/renew", {**held, "lease_s": 5.0}).value["lost"] == ["red-inv"]
        assert blue.post(f"{prefix}/release", held).value == {"released": 0}
        chunk = {"invocation_id": "red-inv", "worker_id": "red-w", "seq": 1, "bytes": b"x"}
        assert blue.post(f"{prefix}/result-chunk", chunk).status == 409
        assert gone(blue.get(f"{prefix}/code-repos/{red['code']}/archive"))
        assert blue.get(f"{prefix}/queues/red-inv/next-due").value == {"seconds": None}
    assert running(stand) == ("running", "red-w")


def running(stand):
    asked = {"invocation_id": "red-inv"}
    row = stand.of("red", "producer").post("/v1/producer/get", asked).value["invocation"]
    return row["state"], row["worker"]


@pytest.mark.parametrize(
    ("path", "body", "answered"),
    [
        ("/ack", {"invocation_id": "red-inv", "state": "succeeded", "result_blob": b"x"}, "fenced"),
        ("/ack", {"invocation_id": "red-inv", "state": "failed", "retry": True}, "fenced"),
        ("/ack", {"invocation_id": "red-inv", "state": "failed", "crashed": True, "attempt": 1}, "fenced"),
        ("/ack-many", {"items": [{"invocation_id": "red-inv", "state": "killed"}]}, {"fenced": ["red-inv"]}),
        ("/renew", {"ids": ["red-inv"], "lease_s": 1.0}, {"lost": ["red-inv"], "drain": False}),
        ("/release", {"ids": ["red-inv"]}, {"released": 0}),
        ("/result-chunk", {"invocation_id": "red-inv", "seq": 9, "bytes": b"x"}, "fenced"),
        ("/result-chunk", {"invocation_id": "red-inv", "frames": [[9, b"x", True]]}, "fenced"),
    ],
)
def test_a_worker_that_does_not_hold_an_invocation_changes_nothing_of_it(stand, red, path, body, answered):
    worker = stand.of("red", "worker")
    for prefix in prefixes("red", "daemon"):
        answer = worker.post(prefix + path, {**body, "worker_id": "another-w"})
        if isinstance(answered, dict):
            assert (answer.status, answer.value) == (200, answered)
        else:
            assert (answer.status, answer.error) == (409, answered)
    acks = {
        "worker_id": "another-w",
        "queue": "empty",
        "acks": [{"invocation_id": "red-inv", "state": "killed"}],
    }
    assert worker.post("/v1/daemon/poll", acks).value["fenced"] == ["red-inv"]
    assert running(stand) == ("running", "red-w")


def test_ids_that_are_alike_in_two_namespaces_are_two(stand):
    body = {"invocation_id": "twin", "queue": "twins", "key": "k"}
    for tenant in ("red", "blue"):
        answer = stand.of(tenant, "producer").post(
            "/v1/producer/submit", {**body, "args_blob": tenant.encode(), "run_config": {"key": "k"}}
        )
        assert (answer.status, answer.value.get("duplicate")) == (200, None)
    for tenant in ("red", "blue"):
        poll = {"worker_id": "w", "queue": "twins", "lease_s": 60.0, "max": 5}
        (command,) = stand.of(tenant, "worker").post("/v1/daemon/poll", poll).value["commands"]
        assert command["body"]["args_blob"] == base64.b64encode(tenant.encode()).decode()


def test_parents_in_another_namespace_are_not_looked_up(stand, red):
    body = {"invocation_id": "child", "queue": "kids", "args_blob": b"", "parent_invocation_id": "red-inv"}
    answer = stand.of("blue", "producer").post("/v1/producer/submit", body)
    assert answer.status == 200
    row = stand.of("blue", "producer").post("/v1/producer/get", {"invocation_id": "child"}).value
    assert row["invocation"]["root"] in ("red-inv", "child")
    assert b"child" not in stand.of("red", "producer").get("/v1/producer/invocations?root=red-inv").body
