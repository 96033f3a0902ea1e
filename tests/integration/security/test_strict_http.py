"""What comes before a body is bounded: strangers send it, so it must cost nothing."""

import asyncio
import json
import socket
import threading
from contextlib import closing

import pytest
import uvicorn

from lakeshore_controlplane.api import strict_http
from lakeshore_controlplane.serving import bind


async def application(scope, receive, send):
    """Reads the body and answers with its length."""
    if scope["type"] != "http":
        return
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = str(size).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def address():
    """Where a server that reads strictly listens."""
    listener = bind("127.0.0.1", 0)
    config = uvicorn.Config(
        application, http=strict_http.StrictHttp, lifespan="off", log_config=None, loop="uvloop"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    yield listener.getsockname()
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()
    listener.close()


@pytest.fixture
def line(address):
    with closing(socket.create_connection(address, 10)) as found:
        yield found


def rest(line):
    """All that comes until the server closes."""
    found = b""
    try:
        while more := line.recv(65536):
            found += more
    except ConnectionResetError:  # it closed while we still sent
        pass
    return found


def refused(found):
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), found
    assert b"content-type: application/json" in head
    error = json.loads(body)["error"]
    assert error["type"] == "bad_request"
    return error["message"]


def answered(line, end, times=1):
    """Receive until ``end`` has come so often."""
    found = b""
    while found.count(end) < times:
        more = line.recv(65536)
        assert more, f"the line was closed after {found[-200:]!r}"
        found += more
    return found


def pour(line, piece, most=8 << 20):
    """Send until the server closes; how much it took."""
    sent = 0
    try:
        while sent < most:
            line.sendall(piece)
            sent += len(piece)
    except OSError:
        pass
    return sent


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"GET /healthz HTTP/1.1\r\nA: ", b"x" * 16384),
        (b"GET /healthz HTTP/1.1\r\n", b"x" * 16384),
        (b"GET /", b"x" * 16384),
        (b"GET / HTTP/1.1\r\n", b"A: b\r\n" * 2000),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ", b"x" * 16384),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n" * 2000),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"x" * 16384),
    ],
    ids=["value", "name", "target", "many", "trailer", "trailers", "chunk extension"],
)
def test_a_head_without_end_is_cut_off(line, start, piece):
    line.sendall(start)
    assert pour(line, piece) < 8 << 20


def test_a_head_that_is_too_large_is_refused_in_the_contracts_form(line):
    line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 70_000 + b"\r\n\r\n")
    assert "65536 bytes" in refused(rest(line))


def test_a_head_that_is_large_and_not_too_large_is_taken(line):
    line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 30_000 + b"\r\nConnection: close\r\n\r\n")
    assert rest(line).endswith(b"\r\n\r\n0")


def test_large_bodies_and_many_requests_on_one_line_are_taken(line):
    for size in (10, 3 << 20, 0, 200_000):
        line.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
        answered(line, b"\r\n\r\n%d" % size)
    piece = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
    line.sendall(
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + piece * 300 + b"0\r\n\r\n"
    )
    answered(line, b"\r\n\r\n%d" % (0x1000 * 300))
    line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
    assert answered(line, b"\r\n\r\n0", 50).count(b"HTTP/1.1 200 OK") == 50


def test_a_head_that_comes_too_slowly_is_given_up(address, monkeypatch):
    monkeypatch.setattr(strict_http, "SLOWEST_HEAD_S", 0.1)
    with closing(socket.create_connection(address, 10)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert "did not come within" in refused(rest(line))


@pytest.mark.parametrize(
    "data", [b"\x00\x01\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_http_is_refused_in_the_contracts_form(line, data):
    line.sendall(data)
    assert refused(rest(line))
