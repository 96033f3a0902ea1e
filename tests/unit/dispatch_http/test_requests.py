"""What goes over the wire: paths, headers, msgpack, gzip; and that the token shows up nowhere else."""

import gzip
import hashlib
import os
import random
import time

import pytest

from dreamlake.lakeshore.dispatch.plane import Backoff, Finished, RunConfig, Submission
from dreamlake.lakeshore.errors import ConfigError, ErrorInfo, LakeshoreError
from http_peer import error, reply

TOKEN = "dlk_very_secret"


def test_the_short_path_is_the_tokens_own_namespace_and_others_are_named(peer, connect):
    peer.script(reply({"now": 1.0}))
    connect().now()
    connect(namespace="team-a").now()
    connect(peer.url + "/lake/").now()
    assert [request.path for request in peer.requests] == [
        "/v1/producer/clock",
        "/v1/namespaces/team-a/producer/clock",
        "/lake/v1/producer/clock",
    ]


def test_a_request_carries_what_the_server_needs(peer, connect):
    peer.script(reply({"cancelled": ["a"]}))
    assert connect(token=TOKEN).cancel("a") is True
    (request,) = peer.requests
    assert (request.method, request.path) == ("POST", "/v1/producer/cancel")
    assert request.body == {"ids": ["a"]}
    assert request.headers["host"] == peer.url.removeprefix("http://")
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == request.headers["accept"] == "application/msgpack"
    assert request.headers["accept-encoding"] == "gzip"


def test_without_a_token_none_is_sent(peer, connect):
    peer.script(reply({"now": 1.0}))
    connect(token="").now()
    assert "authorization" not in peer.requests[0].headers


def test_large_bodies_are_gzipped_both_ways_where_that_helps(peer, plane):
    text = b"all work and no play " * 10_000
    noise = random.Random(1).randbytes(len(text))
    peer.script(reply({"invocation_id": "a"}))
    for envelope in (b"small", text, noise):
        plane.submit("q", envelope, id="a")
    assert [request.headers.get("content-encoding") for request in peer.requests] == [None, "gzip", None]
    assert [request.body["args_blob"] for request in peer.requests] == [b"small", text, noise]
    packed = gzip.compress(reply({"state": "succeeded", "result_blob": text}).partition(b"\r\n\r\n")[2])
    peer.script(reply(packed, headers=["content-encoding: gzip"]))
    assert plane.result("a") == text


def test_errors_with_any_characters_go_both_ways(peer, plane):
    told = ErrorInfo("Odd", "nul \0, lone surrogate \udcff, snowman ☃")
    peer.script(reply({"ok": True}))
    plane.nack("a", "w", error=told, retry=False)
    assert peer.requests[0].body["error"] == told.to_dict()
    peer.script(reply({"invocation": {"id": "a", "state": "failed", "error": told.to_dict()}}))
    assert plane.get("a")["error"] == told.to_dict()


def test_a_submission_is_spelled_out_with_what_was_asked_for_only(peer, plane):
    config = RunConfig(
        priority=2, retries=0, timeout_s=1.5, delay_s=3, backoff=Backoff(1.0, 2.0), deadline=9e9
    )
    peer.script(reply({"invocation_id": "earlier"}))
    assert plane.submit("q", b"e", id="a", key="k", parent="p", config=config) == "earlier"
    plane.submit("q", b"e", id="a")
    first, second = (request.body for request in peer.requests)
    assert first.pop("written_at") == pytest.approx(time.time(), abs=60)  # the clock that 9e9 belongs to
    assert first == {
        "invocation_id": "a",
        "queue": "q",
        "args_blob": b"e",
        "parent_invocation_id": "p",
        "wait_s": 5.0,
        "run_config": {
            "priority": 2.0,
            "key": "k",
            "retries": 0,
            "timeout_s": 1.5,
            "deadline": 9e9,
            "delay_s": 3.0,
            "backoff": {"base_s": 1.0, "cap_s": 2.0},
        },
    }
    assert second == {"invocation_id": "a", "queue": "q", "args_blob": b"e", "wait_s": 5.0}


def echo_ids(request):
    body = request.body
    if "items" not in body:
        return reply({"invocation_id": body["invocation_id"]})
    return reply({"results": [{"invocation_id": item["invocation_id"]} for item in body["items"]]})


def test_a_batch_is_one_request_up_to_a_thousand_and_more_go_a_thousand_at_a_time(peer, plane):
    peer.answer = echo_ids
    ids = [f"i{n}" for n in range(2001)]
    assert plane.submit_many("q", [Submission(name, b"e") for name in ids[:1000]]) == ids[:1000]
    assert len(peer.requests) == 1
    assert peer.requests[0].body["atomic"] is True
    assert plane.submit_many("q", [Submission(name, b"e") for name in ids]) == ids
    assert [len(request.body.get("items", "1")) for request in peer.requests[1:]] == [1000, 1000, 1]
    assert plane.submit_many("q", []) == []
    assert len(peer.requests) == 4


def test_nothing_is_sent_when_one_of_a_batch_is_wrong(peer, plane):
    items = [Submission("good", b"e"), Submission("not good", b"e")]
    with pytest.raises(ConfigError, match="1 to 128 letters"):
        plane.submit_many("q", items)
    with pytest.raises(ConfigError, match="a number of RunConfig"):
        plane.submit("q", b"e", id="a", config=RunConfig(retries="many"))
    with pytest.raises(ConfigError, match="cannot be sent"):
        plane.submit("q", b"e", id="a", config=RunConfig(retries=1 << 70))
    assert peer.requests == []


def test_arguments_and_results_beyond_the_limit_are_brought_first(peer, plane, monkeypatch):
    monkeypatch.setattr("dreamlake.lakeshore.dispatch.http.submitting.ALONG", 10)
    monkeypatch.setattr("dreamlake.lakeshore.dispatch.http.working.ALONG", 10)
    peer.script(reply({"ref": "p/1"}), reply({}), reply({"invocation_id": "a"}))
    plane.submit("q", b"x" * 11, id="a")
    announced, brought, submitted = peer.requests
    assert announced.body == {"size": 11, "sha256": hashlib.sha256(b"x" * 11).hexdigest()}
    assert (brought.method, brought.path, brought.raw) == ("PUT", "/v1/producer/payloads/p%2F1", b"x" * 11)
    assert submitted.body["args_ref"] == "p/1"
    assert "args_blob" not in submitted.body


def test_a_signed_url_gets_its_own_headers_and_no_token(peer, connect):
    plane = connect(token="dlk_secret")
    headers = {"x-amz-meta-sha256": "0", "content-length": "3"}
    peer.script(error("store_unavailable", 503), reply({}))
    plane.upload_code("c", b"abc", {"url": f"{peer.url}/bucket/key?signed=1", "headers": headers})
    first, second = peer.requests
    assert (second.method, second.path, second.raw) == ("PUT", "/bucket/key?signed=1", b"abc")
    host = peer.url.removeprefix("http://")
    assert second.headers == {**headers, "host": host, "connection": "close"}
    assert first.headers == second.headers


def test_many_reports_go_by_the_thousand_and_by_four_mebibytes(peer, plane):
    peer.answer = lambda request: reply({"fenced": [request.body["items"][0]["invocation_id"]]})
    assert plane.ack_many("w", []) == set()
    small = [Finished(f"i{n}", 1, b"r") for n in range(1500)]
    assert plane.ack_many("w", small) == {"i0", "i1000"}
    large = [Finished(f"l{n}", 1, b"r" * (1 << 20)) for n in range(6)]
    assert plane.ack_many("w", large) == {"l0", "l4"}
    assert [len(request.body["items"]) for request in peer.requests] == [1000, 500, 4, 2]


def test_one_report_that_is_fenced_is_told_like_many(peer, plane):
    peer.script(error("fenced", 409))
    assert plane.ack_many("w", [Finished("a", 1, b"r")]) == {"a"}


def test_a_report_is_spelled_out(peer, plane):
    peer.script(reply({"fenced": []}))
    failed = Finished("b", 2, error=ErrorInfo("E", "m"), retry=True, delay_s=2, crashed=True)
    plane.ack_many("w", [Finished("a", 1, b"r"), failed])
    body = peer.requests[0].body
    names = {item.pop("report_id") for item in body["items"]}
    assert len(names) == 1, (
        "the reports of one call go under one name, so that the same request twice is known"
    )
    assert body == {
        "worker_id": "w",
        "items": [
            {"invocation_id": "a", "attempt": 1, "state": "succeeded", "result_blob": b"r"},
            {
                "invocation_id": "b",
                "attempt": 2,
                "state": "failed",
                "error": {"type": "E", "message": "m"},
                "retry": True,
                "delay_s": 2.0,
                "crashed": True,
            },
        ],
    }


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("lake.example", "no http:// or https:// in front"),
        ("lake.example:8080", "no http:// or https:// in front"),
        ("ftp://lake.example", "no http:// or https:// in front"),
        ("http://", "is not a scheme, a host"),
        ("http://lake.example?x=1", "at most a path"),
        ("http://lake.example:port", "its port is not a number"),
        ("http://lake.example:99999", "its port is not a number"),
        ("http://lake example", "give one like"),
        ("http://lake.example/\r\nX: y", "give one like"),
        ("", "give one like"),
        (None, "give one like"),
    ],
)
def test_a_url_that_names_no_control_plane_is_refused_with_an_example(connect, url, words):
    from dreamlake.lakeshore.dispatch import HttpDispatch

    with pytest.raises(ConfigError, match=r"https?://") as caught:
        HttpDispatch(url)
    assert words in str(caught.value)


def test_a_url_with_a_password_is_refused_without_repeating_it(connect):
    with pytest.raises(ConfigError) as caught:
        connect("http://user:hunter2@lake.example")
    assert "hunter2" not in str(caught.value)
    assert "LAKESHORE_CLIENT_TOKEN" in str(caught.value)


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "ü", b"bytes", 7])
def test_a_token_that_cannot_be_one_is_refused_without_repeating_it(connect, token):
    with pytest.raises(ConfigError, match="characters that no token has") as caught:
        connect(token=token)
    assert str(token) not in str(caught.value)


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), "long", None])
def test_a_timeout_that_is_no_number_of_seconds_is_refused(connect, timeout):
    with pytest.raises(ConfigError, match="timeout"):
        connect(timeout=timeout)


def test_the_token_is_in_no_repr_and_in_no_error(peer, connect, nowhere):
    planes = [connect(token=TOKEN, timeout=0.0), connect(nowhere, token=TOKEN, timeout=0.0)]
    peer.script(error("unauthorized", 401, "unknown token"))
    for plane in planes:
        with pytest.raises(LakeshoreError) as caught:
            plane.now()
        trace = caught.getrepr(style="native")
        assert TOKEN not in str(trace)
        assert TOKEN not in repr(caught.value)
        assert TOKEN not in repr(plane) + repr(plane._requests)


def test_a_plane_says_where_it_is(connect):
    plane = connect("https://lake.example/below/", namespace="team")
    assert repr(plane) == "HttpDispatch('https://lake.example/below', namespace='team')"
    assert plane.local is False


def test_http_loads_no_tls_and_no_http_client():
    import subprocess
    import sys

    program = (
        "import sys, dreamlake.lakeshore as dls; dls.HttpDispatch('http://127.0.0.1:9'); "
        "print(sorted({'ssl', 'http.client', 'asyncio', 'sqlite3', 'email'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=os.environ,
    )
    assert done.stdout.strip() == "[]"


def test_a_purge_of_many_may_take_longer_than_other_requests(peer, connect, monkeypatch):
    monkeypatch.setattr("dreamlake.lakeshore.dispatch.http.requests.READ_S", 0.0)
    peer.script(reply({"purged": 20_000}))
    assert connect().purge(older_than_s=0) == 20_000
