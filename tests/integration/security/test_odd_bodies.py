"""Bodies that no client of ours sends: refused with the contract's error or harmless, never a mistake of the server."""

import json
import string

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeshore_controlplane.api.app import TABLE
from odd_bodies import ODD, full_body, places, put, unknown_fields, without
from security_stand import JSON, MSGPACK, check

WITH_BODY = [
    endpoint
    for endpoint in TABLE
    if endpoint.body is not None and not endpoint.paths[0].endswith("/namespaces")
]
LISTS = (
    "/v1/producer/invocations?limit=100",
    "/v1/producer/queues/odd/signals",
    "/v1/queues",
    "/v1/queues/declared",
    "/v1/queues/declared/elasticity-events?verbose=1",
    "/v1/workers",
    "/v1/events?limit=1000",
    "/v1/tokens",
)
"""Where what was stored comes out again."""
KINDS = ("fifo", "filo", "priority", "boltzmann")
BATCH = 9
"""Of how many odd values each place gets one; which ones differs from place to place."""


def target_of(endpoint):
    return endpoint.paths[0].replace("{queue}", "declared").replace("{ns}", "red")


def named(endpoint):
    return f"{endpoint.method} {endpoint.paths[0]}"


class Renamed:
    """Gives bodies ids of their own, so that one is not taken for a repeat of another."""

    def __init__(self):
        self.count = 0

    def __call__(self, body):
        self.count += 1
        self.new = {"inv-1": f"odd-{self.count}", "once": f"once-{self.count}", "q": "odd"}
        return self._in(body)

    def _in(self, value):
        if isinstance(value, dict):
            return {name: self._in(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._in(item) for item in value]
        return self.new.get(value, value) if isinstance(value, str) else value


renamed = Renamed()


@pytest.fixture(scope="module")
def admin(stand):
    return stand.of("red", "admin")


def begin(admin, body):
    """Let the invocation that a body is about run on the worker that it names."""
    inv_id = renamed.new["inv-1"]
    admin.post("/v1/producer/submit", {"invocation_id": inv_id, "queue": "claimed", "args_blob": b""})
    admin.post("/v1/daemon/poll", {"worker_id": "w-1", "queue": "claimed", "max": 100, "lease_s": 1e6})


NEED_A_CLAIM = {"/ack", "/ack-many", "/renew", "/release", "/result-chunk", "/cancel"}


def send_odd(admin, endpoint, base, place, odd):
    body = renamed(base)
    if any(endpoint.paths[0].endswith(path) for path in NEED_A_CLAIM):
        begin(admin, body)
    try:
        sent = put(body, place, odd)
        packed = msgpack.packb(sent, unicode_errors="surrogatepass")
    except ValueError:  # deeper than msgpack itself goes
        return
    check(admin.send(endpoint.method, target_of(endpoint), packed, {"Content-Type": MSGPACK}), (place, odd))


def test_every_field_of_every_body_is_known_here():
    unknown = {endpoint.body.__name__: unknown_fields(endpoint.body) for endpoint in WITH_BODY}
    assert not any(unknown.values()), f"give tests/odd_bodies.py good values for {unknown}"


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=named)
def test_an_odd_value_in_any_place_is_refused_or_harmless(admin, endpoint):
    base = full_body(endpoint.body)
    answer = admin.post(target_of(endpoint), renamed(base), endpoint.method)
    check(answer, base)
    for number, place in enumerate(places(base)):
        for odd in ODD[number % BATCH :: BATCH]:
            send_odd(admin, endpoint, base, place, odd)
        if place:
            check(admin.post(target_of(endpoint), without(renamed(base), place), endpoint.method), place)


def test_what_odd_bodies_left_comes_out_in_both_encodings(admin):
    for data in ({"a": float("inf"), "b": [float("nan")], "c": {"d": b"\xff"}}, {"_id": 1}):
        odd = {
            "invocation_id": f"odd-out-{len(data)}",
            "queue": "odd-out",
            "args_blob": b"",
            "function": data,
        }
        assert admin.post("/v1/producer/submit", {**odd, "run_config": {"x": data}}).status == 200
        assert admin.post("/v1/daemon/event", {"kind": "k", "queue": "odd", "data": data}).status == 200
    for accept in (JSON, MSGPACK):
        for target in LISTS:
            answer = admin.get(target, Accept=accept)
            assert (answer.status, answer.headers["content-type"]) == (200, accept), (
                target,
                answer.body[:300],
            )
            assert answer.value
        for kind in KINDS:
            poll = {
                "worker_id": "w-1",
                "queues": ["odd", "odd-out"],
                "max": 25,
                "kind": kind,
                "lease_s": 60.0,
            }
            assert admin.post("/v1/daemon/poll", poll, Accept=accept).status == 200


JSON_BODIES = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"1",
    b"{",
    b"{}x",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b"\x00",
    b'{"a": NaN}',
    b'{"invocation_id": Infinity}',
    b'{"timeout_s": 1e999}',
    b'{"priority": ' + b"9" * 5000 + b"}",
    b'{"invocation_id": "\\ud800"}',
    b'{"invocation_id": "\\u0000"}',
    b'{"invocation_id": {"$gt": ""}}',
    b'{"queue": {"$ne": null}, "worker_id": {"$gt": ""}, "journal": {"$gt": ""}}',
    b'{"a": ' * 5000 + b"1" + b"}" * 5000,
    b"[" * 100_000,
    b'{"args_blob": "not base64!", "invocation_id": "x"}',
    b'{"__proto__": {"x": 1}, "constructor": 1}',
    b'{"invocation_id": "a", "invocation_id": {"$gt": ""}}',
]
MSGPACK_BODIES = [
    b"\xc1",
    b"\xc0",
    b"\x90",
    b"\x81",
    b"\x81\xa1a",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xdb\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x01",
    b"\xdd\x7f\xff\xff\xff" + b"\xc0" * 1000,
    b"\xdf\x00\x10\x00\x00" + b"\x01\x01" * 600,
    b"\x91" * 100_000,
    b"\x81\xa1a" * 50_000,
    b"\x81\x01\x01",
    b"\x81\xc0\x01",
    b"\x81\xa1\xff\x01",
    b"\x81\xc4\x01a\x01",
    b"\x81\x93\x01\x02\x03\x01",
    b"\xd6\xff\x00\x00\x00\x00",
    b"\xc7\x0c\xff" + b"\xff" * 12,
    b"\x80trailing",
]
TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "*/*",
    "",
    "application/json/x",
    "application/json; charset=utf-16",
    "APPLICATION/JSON",
    "\xff",
]


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=named)
def test_a_body_that_is_none_is_refused_in_the_encoding_that_was_asked_for(admin, endpoint):
    bodies = [(JSON, body) for body in JSON_BODIES] + [(MSGPACK, body) for body in MSGPACK_BODIES]
    bodies += [(media, b'{"a": 1}') for media in TYPES]
    for number, (media, body) in enumerate(bodies):
        accept = (JSON, MSGPACK)[number % 2]
        answer = admin.send(
            endpoint.method, target_of(endpoint), body, {"Content-Type": media, "Accept": accept}
        )
        check(answer, body[:60])
        assert answer.headers["content-type"] == accept
        if body not in (b"", b"\x80") and b"\xa1" not in body and body[:1] not in b"{\x81":
            assert answer.status >= 400, body[:60]


@pytest.mark.parametrize(
    "encoding", ["br", "deflate", "zstd", "gzip, gzip", "GZIP", "identity, x", "\xe4", "gzip"]
)
def test_an_encoding_that_is_not_known_or_not_true_is_refused(admin, encoding):
    answer = admin.send(
        "POST", "/v1/producer/count", b'{"queue": "q"}', {"Content-Type": JSON, "Content-Encoding": encoding}
    )
    assert (answer.status, answer.error) == (400, "bad_request")


def test_nothing_is_stored_of_a_refused_submission(admin, rows):
    base = full_body(next(e.body for e in WITH_BODY if e.paths[0].endswith("/submit")))
    before = rows()
    for odd in ({"$gt": 1}, "\0", 2**64 - 1, [], "x" * 600, -1.0, float("nan")):
        for field in ("invocation_id", "queue", "function", "code_context", "run_config", "args_ref"):
            sent = {**renamed(base), field: odd}
            answer = check(admin.post("/v1/producer/submit", sent), (field, odd))
            assert answer.status == 400, (field, odd)
            many = {"items": [renamed(base), sent], "atomic": True}
            assert admin.post("/v1/producer/submit-many", many).status == 400
    assert rows() == before


free = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.binary(max_size=20)
    | st.text(st.characters(exclude_categories=()), max_size=20)
    | st.sampled_from(["$gt", "a.b", "\0", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(string.ascii_letters + "$.\0_é", max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_values_in_any_places_are_refused_or_harmless(admin, data):
    endpoint = data.draw(st.sampled_from(WITH_BODY))
    body = renamed(full_body(endpoint.body))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([*places(body)][1:] or [()]))
        body = put(body, place, data.draw(free))
        if not isinstance(body, dict):
            break
    check(admin.post(target_of(endpoint), body, endpoint.method), (endpoint.paths[0], body))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(endpoint=st.sampled_from(WITH_BODY), data=st.data())
def test_bodies_with_bytes_changed_are_refused_or_harmless(admin, endpoint, data):
    media = data.draw(st.sampled_from([JSON, MSGPACK]))
    body = renamed(full_body(endpoint.body))
    packed = bytearray(json.dumps(body, default=repr).encode() if media == JSON else msgpack.packb(body))
    for _ in range(data.draw(st.integers(1, 6))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    sent = bytes(packed[: data.draw(st.integers(0, len(packed)))] if data.draw(st.booleans()) else packed)
    check(admin.send(endpoint.method, target_of(endpoint), sent, {"Content-Type": media}), sent)
