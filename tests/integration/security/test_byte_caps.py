"""Bytes are counted before they are decoded: nothing that is sent makes a replica large, or waits for ever."""

import gzip
import socket
from contextlib import closing
from pathlib import Path

import pytest

from lakeshore_controlplane.api import decoding
from lakeshore_controlplane.api.app import TABLE
from security_stand import JSON, MSGPACK, replica_process

MIB = 1 << 20
SMALL = [endpoint for endpoint in TABLE if endpoint.body is not None and endpoint.largest <= MIB]
LARGE = [endpoint for endpoint in TABLE if endpoint.body is not None and endpoint.largest > MIB]


def target_of(endpoint):
    return endpoint.paths[0].replace("{queue}", "caps").replace("{ns}", "red")


def head(caller, path, **headers):
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {caller.token}", f"Accept: {JSON}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.fixture
def admin(stand):
    return stand.of("red", "admin")


@pytest.mark.parametrize("endpoint", SMALL, ids=lambda e: f"{e.method} {e.paths[0]}")
def test_a_body_over_the_cap_is_refused_by_its_length(stand, endpoint):
    caller = stand.root if endpoint.paths[0].endswith("/namespaces") else stand.of("red", "admin")
    answer = caller.send(endpoint.method, target_of(endpoint), b"\x81" * (MIB + 1), {"Content-Type": MSGPACK})
    assert (answer.status, answer.error) == (413, "payload_too_large")


@pytest.mark.parametrize("endpoint", LARGE, ids=lambda e: f"{e.method} {e.paths[0]}")
def test_an_announced_length_over_the_cap_is_refused_before_the_body_comes(admin, endpoint):
    with closing(socket.create_connection((admin.address.hostname, admin.address.port), 10)) as line:
        line.sendall(head(admin, target_of(endpoint), Content_Length=1 << 40))
        assert line.recv(65536).startswith(b"HTTP/1.1 413 ")


def chunked(size, total):
    piece = b"%x\r\n" % size + b"x" * size + b"\r\n"
    return (piece for _ in range(total // size))


def test_a_body_in_chunks_is_refused_once_it_passes_the_cap(admin, rows):
    before = rows()
    with closing(socket.create_connection((admin.address.hostname, admin.address.port), 10)) as line:
        line.sendall(head(admin, "/v1/producer/count", Transfer_Encoding="chunked"))
        for piece in chunked(65536, MIB):
            line.sendall(piece)
        line.sendall(b"1\r\nx\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 413 ")
    assert rows() == before


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "0x10", "5, 6", "5 ", "+5", "", "9" * 40])
def test_a_length_that_lies_ends_in_a_refusal(admin, length):
    found = admin.raw(head(admin, "/v1/producer/count", Content_Length=length) + b'{"queue": "q"}')
    assert not found or found.split()[1] in (b"400", b"413"), found


def test_a_length_and_chunks_together_are_not_taken(admin):
    both = head(admin, "/v1/producer/count", Content_Length=3, Transfer_Encoding="chunked")
    found = admin.raw(both + b"0\r\n\r\nGET /v1/tokens HTTP/1.1\r\nHost: x\r\n\r\n")
    assert found.count(b"HTTP/1.1 ") == 1
    assert found.startswith(b"HTTP/1.1 400 ")


def test_a_body_that_ends_early_stores_nothing(admin, rows):
    before = rows()
    body = b'{"invocation_id": "early", "queue": "caps", "args_blob": ""}'
    announced = head(admin, "/v1/producer/submit", Content_Length=len(body) + 1, Content_Type=JSON)
    found = admin.raw(announced + body)
    assert not found or found.split()[1] == b"400"
    assert rows() == before


def test_a_body_that_stops_coming_is_given_up(admin, monkeypatch, rows):
    before = rows()
    monkeypatch.setattr(decoding, "SLOWEST_S", 0.1)
    with closing(socket.create_connection((admin.address.hostname, admin.address.port), 10)) as line:
        line.sendall(head(admin, "/v1/producer/submit", Content_Length=100, Content_Type=JSON) + b'{"in')
        found = line.recv(65536)
    assert found.startswith(b"HTTP/1.1 400 ")
    assert b"no byte of the body came" in found
    assert rows() == before


def test_a_payload_over_the_limit_is_refused_and_not_kept(admin, rows):
    before = rows()
    limit = 64 * MIB
    answer = admin.send("PUT", "/v1/producer/payloads/" + "payload.5." + "0" * 64 + ".a", b"x" * (limit + 1))
    assert (answer.status, answer.error) == (413, "payload_too_large")
    body = {"invocation_id": "heavy", "queue": "caps", "args_blob": b"x" * (limit + 1)}
    answer = admin.post("/v1/producer/submit", body)
    assert (answer.status, answer.error) == (413, "payload_too_large")
    answer = admin.post("/v1/producer/submit", {**body, "args_blob": b"", "function": {"a": b"x" * 2 * MIB}})
    assert (answer.status, answer.error) == (400, "bad_request")
    assert rows() == before


def peak_mib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def zipped(media, plain):
    return {"Content-Type": media, "Content-Encoding": "gzip"}, gzip.compress(plain, 1)


MANY = 24 * MIB


def bombs():
    """Name, media type and plain bytes of each; made one after another."""

    yield "maps", MSGPACK, b"\xdd" + MANY.to_bytes(4, "big") + b"\x80" * MANY
    yield "nils", MSGPACK, b"\x81\xa5items\xdd" + MANY.to_bytes(4, "big") + b"\xc0" * MANY
    yield "lists of lists", MSGPACK, b"\xdc\x03\xe8" + (b"\xdc\xea\x60" + b"\x90" * 60_000) * 1000
    yield "texts", MSGPACK, b"\xdc\x03\xe8" + (b"\xdc\x4e\x20" + b"\xa2ab" * 20_000) * 1000
    yield (
        "fields",
        MSGPACK,
        b"\xdc\x02\xbc" + b"".join(b"\xde\x4e\x20" + b"\xa2ab\x80" * 20_000 for _ in range(700)),
    )
    yield "depth", MSGPACK, b"\x91" * MANY
    yield "depth in JSON", JSON, b"[" * MANY
    yield "maps in JSON", JSON, b"[" + b"{}," * (MANY // 3) + b"{}]"
    yield "one huge text", JSON, b'{"invocation_id": "' + b"x" * MANY + b'"}'
    yield "one huge number", JSON, b'{"timeout_s": ' + b"9" * MANY + b"}"
    yield "beyond the cap", MSGPACK, b"\x00" * (80 * MIB)


def test_bombs_are_refused_and_leave_a_replica_small(document_server, tmp_path):
    with replica_process(document_server, tmp_path) as (caller, pid, log):
        for name, media, plain in bombs():
            headers, packed = zipped(media, plain)
            answer = caller.send("POST", "/v1/producer/submit-many", packed, headers)
            assert answer.status in (400, 413), (name, answer)
            assert caller.send("POST", "/v1/producer/count", packed, headers).status == 413
        assert peak_mib(pid) < 400
        assert caller.get("/readyz").status == 200
        assert "Traceback" not in log.read_text()


def test_a_bomb_is_not_read_from_strangers(stand):
    headers, packed = zipped(MSGPACK, b"\x80" * MANY)
    headers["Accept"] = JSON
    answer = stand.stranger.send("POST", "/v1/producer/submit-many", packed, headers)
    assert answer.status == 401
