"""Tokens and namespaces over HTTP: made, listed, revoked, and the rules of who may."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from security_stand import ROOT, Caller, opened


@pytest.fixture
def admin(stand):
    return stand.of("red", "admin")


def test_a_new_token_is_shown_once_and_works_at_once(stand, admin):
    made = admin.post_json("/v1/tokens", {"name": "one", "scopes": ["producer"]}).value
    assert re.fullmatch(r"dlk_[A-Za-z0-9_-]{43}", made["token"])
    listed = admin.get("/v1/tokens")
    assert made["id"] in listed.body.decode()
    assert made["token"] not in listed.body.decode()
    caller = Caller(stand.url, made["token"])
    assert caller.get("/v1/producer/queues").status == 200
    assert admin.send("DELETE", f"/v1/tokens/{made['id']}").status == 200
    assert caller.get("/v1/producer/queues").status == 401
    assert admin.send("DELETE", f"/v1/tokens/{made['id']}").status == 200
    caller.close()


def test_fifty_tokens_made_at_once_are_fifty(stand):
    def make(number):
        caller = Caller(stand.url, stand.of("red", "admin").token)
        made = caller.post_json("/v1/tokens", {"name": f"at-once-{number}", "scopes": ["worker"]}).value
        status = Caller.get(caller, "/v1/tokens", Authorization=f"Bearer {made['token']}").status
        caller.close()
        return made, status

    with ThreadPoolExecutor(16) as pool:
        found = [*pool.map(make, range(50))]
    assert {status for _, status in found} == {403}  # known, and no admin
    for field in ("token", "id"):
        assert len({made[field] for made, _ in found}) == 50
    listed = {token["id"] for token in stand.of("red", "admin").get("/v1/tokens").value["tokens"]}
    assert {made["id"] for made, _ in found} <= listed


def test_a_revocation_that_was_not_heard_acts_within_five_seconds(document_server, tmp_path):
    import pymongo

    database = "test_revocation_unheard"
    with opened(document_server, database) as here, opened(document_server, database) as there:
        made = here.make_token("red", "producer")
        caller = Caller(there.url, made["token"])
        assert caller.get("/v1/producer/queues").status == 200
        assert here.root.send("DELETE", f"/v1/namespaces/red/tokens/{made['id']}").status == 200
        there.clock.advance(5.1)
        assert caller.get("/v1/producer/queues").status == 401
        caller.close()
    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        client.drop_database(database)


def test_a_token_ends_at_its_time(stand, admin):
    made = admin.post_json(
        "/v1/tokens", {"name": "short", "scopes": ["producer"], "expires_in_s": 10.0}
    ).value
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert stand.stranger.get("/v1/producer/queues", **headers).status == 200
    stand.clock.advance(10.1)
    answer = stand.stranger.get("/v1/producer/queues", **headers)
    assert (answer.status, answer.value["error"]["message"]) == (401, "the token has expired")


def test_the_first_token_is_listed_by_its_like_and_by_nobody_else(stand, admin):
    listed = stand.root.get("/v1/tokens").value["tokens"]
    assert [token["namespace"] for token in listed if token["id"].startswith("bootstrap")] == ["*"]
    assert ROOT not in json.dumps(listed)
    (first,) = [token["id"] for token in listed if token["namespace"] == "*"]
    assert first not in admin.get("/v1/tokens").body.decode()
    assert admin.send("DELETE", f"/v1/tokens/{first}").status == 404
    default = stand.make_token("default", "admin")["token"]
    stranger = {"Authorization": f"Bearer {default}"}
    assert first not in stand.stranger.get("/v1/tokens", **stranger).body.decode()
    assert stand.stranger.send("DELETE", f"/v1/tokens/{first}", headers=stranger).status == 404
    assert stand.root.get("/v1/tokens").status == 200


def test_the_first_token_can_be_revoked_over_http_and_stays_so(document_server):
    import pymongo

    database = "test_first_token_revoked"
    with opened(document_server, database) as here:
        (first,) = [t["id"] for t in here.root.get("/v1/tokens").value["tokens"] if t["namespace"] == "*"]
        assert here.root.send("DELETE", f"/v1/tokens/{first}").status == 200
        assert here.root.get("/v1/tokens").status == 401
    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        (row,) = client[database]["tokens"].find({"namespaceId": "*"})
        assert "revokedAt" in row
        client.drop_database(database)


def test_a_token_in_a_path_is_not_repeated(stand, admin):
    answer = admin.send("DELETE", f"/v1/tokens/{stand.of('red', 'worker').token}")
    assert (answer.status, answer.error) == (404, "not_found")
    assert b"dlk_" not in answer.body
    assert stand.of("red", "worker").get("/v1/daemon/queues/q/next-due").status == 200


@pytest.mark.parametrize(
    "body",
    [
        {"name": "t", "scopes": []},
        {"name": "t", "scopes": ["root"]},
        {"name": "t", "scopes": ["admin", {"$gt": ""}]},
        {"name": "t", "scopes": "admin"},
        {"name": "", "scopes": ["admin"]},
        {"name": "t" * 129, "scopes": ["admin"]},
        {"name": "t", "scopes": ["admin"], "expires_in_s": 0},
        {"name": "t", "scopes": ["admin"], "expires_in_s": -1},
        {"name": "t", "scopes": ["admin"] * 9},
    ],
)
def test_a_token_that_is_wrong_is_not_made(admin, rows, body):
    before = rows()
    answer = admin.post_json("/v1/tokens", body)
    assert (answer.status, answer.error) == (400, "bad_request")
    assert rows() == before


def test_a_body_cannot_name_the_tokens_namespace(admin):
    body = {"name": "t", "scopes": ["admin"], "namespace": "*", "namespaceId": "*", "_id": "x"}
    assert admin.post_json("/v1/tokens", body).value["namespace"] == "red"


def test_namespaces_are_made_and_deleted_by_the_admin_of_all_alone(stand):
    for tenant in ("red", "blue"):
        for scope in ("producer", "worker", "operator", "admin"):
            caller = stand.of(tenant, scope)
            assert caller.post_json("/v1/namespaces", {"name": "mine"}).status == 403
            assert caller.send("DELETE", f"/v1/namespaces/{tenant}").status == 403
    assert [n["name"] for n in stand.of("red", "admin").get("/v1/namespaces").value["namespaces"]] == ["red"]
    for name in ("", "*", "a/b", "..", ".a", "a" * 129, "a b", "\u00e9", "$a", "a\0"):
        assert stand.root.post_json("/v1/namespaces", {"name": name}).status == 400, name


def test_a_namespace_is_deleted_when_nothing_is_in_it_and_its_tokens_end_with_it(stand):
    assert stand.root.post_json("/v1/namespaces", {"name": "short-lived"}).status == 200
    made = stand.make_token("short-lived", "admin")
    mine = {"Authorization": f"Bearer {made['token']}"}
    assert stand.root.send("DELETE", "/v1/namespaces/short-lived").status == 409
    assert stand.stranger.get("/v1/queues", **mine).status == 200
    assert stand.root.send("DELETE", f"/v1/namespaces/short-lived/tokens/{made['id']}").status == 200
    assert stand.root.send("DELETE", "/v1/namespaces/short-lived").status == 200
    assert stand.stranger.get("/v1/queues", **mine).status == 401
    for answer in (
        stand.root.get("/v1/namespaces/short-lived/queues"),
        stand.root.send("DELETE", "/v1/namespaces/short-lived"),
    ):
        assert (answer.status, answer.error) == (404, "not_found")
    assert stand.root.send("DELETE", "/v1/namespaces/default").status == 409


def test_a_storm_of_guesses_is_slowed_down_and_known_tokens_still_enter(stand, admin):
    assert admin.get("/v1/queues").status == 200
    found = {
        stand.stranger.get("/v1/queues", Authorization=f"Bearer dlk_{number:043d}").status
        for number in range(1500)
    }
    assert found <= {401, 429}
    assert admin.get("/v1/queues").status == 200
