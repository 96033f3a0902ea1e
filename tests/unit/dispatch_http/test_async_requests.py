"""From an event loop: the same words on the wire, the same tries and the same errors as from threads."""

import asyncio
import gc

import pytest

from dreamlake.lakeshore.dispatch.http.requests import LostAnswerError
from dreamlake.lakeshore.dispatch.plane import Submission
from dreamlake.lakeshore.errors import DispatchError, FencedError, LakeshoreError, QueueFullError
from http_peer import error, reply

TOKEN = "dlk_very_secret"


def run(plane, scenario):
    async def limited():
        async with asyncio.timeout(20):
            return await scenario(plane.asynchronous())

    found = asyncio.run(limited())
    gc.collect()  # what was left open would warn
    return found


def error_of(call):
    with pytest.raises(LakeshoreError) as raised:
        call()
    return type(raised.value), str(raised.value)


def test_requests_are_spelled_as_those_of_threads_are(peer, connect):
    peer.script(reply({"invocation_id": "a"}))
    plane = connect(peer.url + "/lake/", token=TOKEN, namespace="team-a")
    items = [Submission("a", b"e" * 100_000)]
    plane.submit_many("q", items)
    assert run(plane, lambda face: face.submit_many("q", items)) == ["a"]
    of_thread, of_loop = peer.requests
    assert (of_loop.method, of_loop.path, of_loop.raw) == (of_thread.method, of_thread.path, of_thread.raw)
    names = set(of_loop.headers) | set(of_thread.headers)
    assert {name for name in names if of_loop.headers.get(name) != of_thread.headers.get(name)} == set()


@pytest.mark.parametrize(
    "answer",
    [
        error("queue_full", 429, "the queue is full", after=7),
        error("bad_request", 400, "no such thing", hint="use another"),
        error("unauthorized", 401, "unknown token"),
        error("internal", 500, "a mistake"),
        reply(b"<html>", 404, kind="text/html"),
        reply(b"", 302, ["location: https://elsewhere.example.com/"]),
        reply(b"[]", kind="application/json"),
        reply(b"\xc1", kind="application/msgpack"),
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        None,
    ],
)
def test_every_failure_is_the_same_error(peer, connect, answer):
    peer.script(answer)
    peer.hang_up_after_answer = True
    plane = connect(timeout=0.2)
    expected = error_of(lambda: plane.cancel_many(["a"]))
    found = error_of(lambda: run(connect(timeout=0.2), lambda face: face.cancel_many(["a"])))
    if b"SSH" in (answer or b""):
        assert found[0] is expected[0]
        assert "no control plane answers" in found[1]
    else:
        assert found == expected


def test_nobody_there_is_the_same_error(connect, nowhere):
    expected = error_of(lambda: connect(nowhere, timeout=0.2).cancel_many(["a"]))
    found = error_of(lambda: run(connect(nowhere, timeout=0.2), lambda face: face.cancel_many(["a"])))
    assert found[0] is expected[0]
    assert nowhere in found[1]
    assert "is it running?" in found[1]


def test_what_passes_is_tried_again_and_what_does_not_is_not(peer, plane):
    peer.script(error("stopping", 503), error("rate_limited", 429, after=0.01), reply({"cancelled": ["a"]}))
    assert run(plane, lambda face: face.cancel_many(["a"])) == {"a"}
    peer.requests.clear()
    peer.script(error("fenced", 409))
    with pytest.raises(FencedError):
        run(plane, lambda face: face.ack("a", "w", result=b"", attempt=1))
    peer.script(error("queue_full", 429, after=3))
    with pytest.raises(QueueFullError):
        run(plane, lambda face: face.submit_many("q", [Submission("a", b"e")]))
    assert len(peer.requests) == 2


def test_a_lost_answer_is_asked_for_again_only_where_that_is_safe(peer, plane):
    peer.script(reply({"cancelled": []}), None, reply({"cancelled": ["a"]}))

    async def twice(face):
        await face.cancel_many(["b"])
        return await face.cancel_many(["a"])

    assert run(plane, twice) == {"a"}
    peer.script(None)
    with pytest.raises(LostAnswerError):
        run(plane, lambda face: face._requests.run(face._outcomes._watch.ask(0.0)))


def test_a_closed_plane_says_so(peer, plane):
    async def scenario(face):
        plane.close()
        await face.count("q", "queued")

    with pytest.raises(DispatchError, match="is closed"):
        run(plane, scenario)
