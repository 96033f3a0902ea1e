"""Which requests are made again, for how long, and what the caller hears in the end."""

import pickle
import threading
import time

import pytest

from dreamlake.lakeshore.errors import (
    ConfigError,
    DispatchError,
    FencedError,
    QueueFullError,
    QueueUnavailableError,
    RefusedError,
)
from http_peer import Peer, error, reply, until

NOW = reply({"now": 1.0})


@pytest.mark.parametrize(
    "answer",
    [
        error("stopping", 503),
        error("store_unavailable", 503),
        error("rate_limited", 429),
        reply(b"<html>no backend</html>", 503, kind="text/html"),
        reply(b"<html>no backend</html>", 502, kind="text/html"),
        reply(b"", 429, kind="text/plain"),
        None,
    ],
    ids=["stopping", "store", "rate", "proxy 503", "proxy 502", "proxy 429", "hung up"],
)
def test_what_passes_is_waited_for(peer, plane, answer):
    peer.script(NOW)
    plane.now()
    peer.script(answer, answer, answer, NOW)
    assert plane.now() == 1.0
    assert len(peer.requests) == 5


def test_the_server_says_how_long_to_wait(peer, plane):
    peer.script(error("stopping", 503, after="0.3"), NOW)
    began = time.monotonic()
    assert plane.now() == 1.0
    assert 0.3 <= time.monotonic() - began < 2


def test_a_wait_beyond_the_limit_is_not_begun(peer, plane):
    peer.script(error("rate_limited", 429, "too many", after="60"))
    began = time.monotonic()
    with pytest.raises(QueueFullError, match="too many") as caught:
        plane.now()
    assert caught.value.retry_after_s == 60.0
    assert time.monotonic() - began < 2
    assert len(peer.requests) == 1


@pytest.mark.parametrize("after", ["soon", "Wed, 21 Oct 2015 07:28:00 GMT", "-5", "nan", ""])
def test_a_wait_that_is_no_number_of_seconds_counts_as_none(peer, plane, after):
    peer.script(error("stopping", 503, after=after), NOW)
    assert plane.now() == 1.0


def test_in_the_end_the_servers_own_words_are_given(peer, connect):
    plane = connect(timeout=0.2)
    peer.script(error("store_unavailable", 503, "the database does not answer", hint="start it"))
    with pytest.raises(DispatchError, match=r"^the database does not answer: start it$"):
        plane.now()
    assert len(peer.requests) > 1


@pytest.mark.parametrize(
    ("kind", "status", "raised"),
    [
        ("bad_request", 400, RefusedError),
        ("forbidden", 403, DispatchError),
        ("not_found", 404, DispatchError),
        ("expired", 404, DispatchError),
        ("id_conflict", 409, RefusedError),
        ("queue_unavailable", 409, QueueUnavailableError),
        ("fenced", 409, FencedError),
        ("refused", 409, RefusedError),
        ("deadline_too_near", 409, RefusedError),
        ("payload_too_large", 413, RefusedError),
        ("queue_full", 429, QueueFullError),
        ("internal", 500, DispatchError),
        ("a kind of the future", 418, DispatchError),
    ],
)
def test_a_refusal_is_told_at_once_in_the_servers_words(peer, plane, kind, status, raised):
    peer.script(error(kind, status, "queue 'q' is draining"))
    with pytest.raises(raised, match="queue 'q' is draining"):
        plane.submit("q", b"e", id="a")
    assert len(peer.requests) == 1


def test_a_full_queue_says_when_to_come_back_and_survives_pickling(peer, plane):
    peer.script(error("queue_full", 429, "queue 'q' is full", after="2.5"))
    with pytest.raises(QueueFullError) as caught:
        plane.submit("q", b"e", id="a")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.retry_after_s) == ("queue 'q' is full", 2.5)


def test_a_refused_token_names_what_to_set(peer, plane):
    peer.script(error("unauthorized", 401, "no token was given"))
    with pytest.raises(DispatchError, match=r"no token was given.*LAKESHORE_CLIENT_TOKEN.*--token"):
        plane.now()
    assert len(peer.requests) == 1


def test_a_redirect_names_the_other_place(peer, plane):
    peer.script(reply(b"", 308, ["location: https://lake.example/"], kind="text/plain"))
    with pytest.raises(DispatchError, match=r"redirects to 'https://lake.example/': use that"):
        plane.now()


def test_nobody_there_is_one_line_within_seconds(connect, nowhere):
    began = time.monotonic()
    with pytest.raises(DispatchError) as caught:
        connect(nowhere, timeout=30.0).now()
    assert str(caught.value) == (
        f"no control plane answers at {nowhere} (Connection refused): is it running? "
        "Start it, or correct LAKESHORE_URL or --url"
    )
    assert time.monotonic() - began < 10


def test_a_host_that_does_not_exist_is_one_line(connect):
    with pytest.raises(DispatchError, match=r"no control plane answers at http://no-such-host\.invalid:1 \("):
        connect("http://no-such-host.invalid:1", timeout=0.0).now()


def test_a_server_without_tls_is_told_from_one_that_is_away(peer, connect):
    peer.script(NOW)
    with pytest.raises(DispatchError, match="its http:// or https:// too"):
        connect(peer.url.replace("http:", "https:")).now()


def test_a_server_that_answers_nothing_is_given_up(peer, connect, monkeypatch):
    monkeypatch.setattr("dreamlake.lakeshore.dispatch.http.requests.READ_S", 0.1)
    peer.script(Peer.HANG)
    with pytest.raises(DispatchError, match="it took too long"):
        connect(timeout=0.3).now()


def test_a_control_plane_that_restarts_is_waited_for(peer, connect):
    plane = connect()
    peer.script(NOW)
    plane.now()
    port = int(peer.url.rpartition(":")[2])
    peer.hang_up()
    back = []

    def restart():
        back.append(Peer(port))
        back[0].script(reply({"now": 2.0}))

    timer = threading.Timer(0.3, restart)
    timer.start()
    try:
        assert plane.now() == 2.0
    finally:
        timer.join()
        back[0].close()


def test_a_frame_without_a_number_is_sent_again_under_the_same_name(peer, plane):
    peer.script(NOW, None, error("store_unavailable", 503), reply({"seqs": [4]}))
    plane.now()
    peer.requests.clear()
    assert plane.journal_append("j", None, b"f") == 4
    assert plane.journal_append("j", None, b"f") == 4
    names = [request.body["append_id"] for request in peer.requests]
    assert names[0] == names[1] == names[2] != names[3]
    peer.script(None, reply({"seqs": [7]}))
    assert plane.journal_append("j", 7, b"f") == 7
    assert "append_id" not in peer.requests[-1].body


def test_a_frame_without_a_number_survives_a_connection_that_was_closed_meanwhile(peer, plane):
    peer.hang_up_after_answer = True
    peer.script(reply({"seqs": [1]}))
    for _ in range(3):
        assert plane.journal_append("j", None, b"f") == 1
        (kept,) = plane._requests._pool._idle
        until(kept.is_stale)
    assert len(peer.requests) == 3


def test_arguments_are_checked_before_anything_is_sent(peer, plane):
    for act in (
        lambda: plane.claim("q", "w", kind="lifo"),
        lambda: plane.claim("no queue", "w"),
        lambda: plane.claim("q", "w", lease_s=0),
        lambda: plane.count("q", "done"),
        lambda: plane.invocations(state="done"),
        lambda: plane.set_queue_state("q", "stopped"),
        lambda: plane.journal_append("", 0, b""),
        lambda: plane.signals("a/b"),
    ):
        with pytest.raises(ConfigError):
            act()
    assert peer.requests == []
