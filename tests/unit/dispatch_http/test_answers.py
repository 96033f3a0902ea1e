"""Reading what servers and proxies send, whole, cut into pieces, compressed, or broken."""

import gzip
import socket
import threading

import msgpack
import pytest

from dreamlake.lakeshore.dispatch.http.answers import GarbledError, read_answer
from dreamlake.lakeshore.errors import DispatchError
from http_peer import reply

BODY = msgpack.packb({"now": 1.0})
TYPE = b"Content-Type: application/msgpack\r\n"


def chunked(*parts):
    return b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n"


WELL = {
    "with its length": reply(BODY),
    "in chunks": b"HTTP/1.1 200 OK\r\n"
    + TYPE
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + chunked(BODY[:3], BODY[3:])
    + b"\r\n",
    "in chunks with a trailer": b"HTTP/1.1 200 OK\r\n"
    + TYPE
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + chunked(BODY)
    + b"X-Sum: 1\r\n\r\n",
    "up to the end of the connection": b"HTTP/1.1 200 OK\r\n" + TYPE + b"\r\n" + BODY,
    "after a word in advance": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + reply(BODY),
    "as JSON": reply(b'{"now": 1.0}', kind="application/json; charset=utf-8"),
    "gzipped": reply(gzip.compress(BODY), headers=["content-encoding: gzip"]),
    "of an old server": reply(BODY).replace(b"HTTP/1.1", b"HTTP/1.0"),
}


@pytest.mark.parametrize("answer", WELL.values(), ids=WELL)
def test_an_answer_is_read(peer, plane, answer):
    peer.hang_up_after_answer = True
    peer.script(answer)
    assert plane.now() == 1.0


@pytest.mark.parametrize("answer", WELL.values(), ids=WELL)
def test_an_answer_in_single_bytes_is_read(answer):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)

        def trickle():
            for number in range(len(answer)):
                theirs.send(answer[number : number + 1])
            theirs.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=trickle)
        thread.start()
        found = read_answer(ours)
        thread.join()
    assert found.status == 200
    assert found.body


BROKEN = {
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "no number": b"HTTP/1.1 yes OK\r\n\r\n",
    "a header without a colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "a head that is cut off": b"HTTP/1.1 200 OK\r\nContent-Le",
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
    "a body that is cut off": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    "a length below nothing": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "a length beyond reason": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n",
    "a chunk that is none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk of another length": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcdef\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_what_is_no_answer_is_refused(answer):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        sender = threading.Thread(target=lambda: (theirs.sendall(answer), theirs.shutdown(socket.SHUT_WR)))
        sender.start()
        with pytest.raises(GarbledError):
            read_answer(ours)
        ours.close()
        sender.join()


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"<html>hello</html>", kind="text/html"),
        reply(b"\xc1", kind="application/msgpack"),
        reply(b"\x91" * 5000, kind="application/msgpack"),
        reply(b"{", kind="application/json"),
        reply([1, 2]),
        reply(b"not gzip", headers=["content-encoding: gzip"]),
        reply(gzip.compress(BODY)[:-4], headers=["content-encoding: gzip"]),
        reply(BODY, headers=["content-encoding: br"]),
        reply(b"<html>hello</html>", 404, kind="text/html"),
        reply({"detail": "Not Found"}, 404),
    ],
)
def test_a_server_that_is_no_control_plane_is_said_to_be_none(peer, plane, answer):
    peer.script(answer)
    with pytest.raises(DispatchError, match=r"no control plane.*correct LAKESHORE_URL or --url") as caught:
        plane.now()
    assert len(str(caught.value).splitlines()) == 1
