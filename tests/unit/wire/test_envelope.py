"""The envelope: header without arguments, versions, unknown fields, damage."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dreamlake.lakeshore.wire import WIRE_VERSION, Envelope, WireError, pack

REF = {"kind": "ref", "module": "user_pkg.search", "qualname": "topk", "src_hash": "sha256:5a4f0c0011223344"}


def envelope(**changes: object) -> Envelope:
    fields = {
        "id": "01HX2K3M4N5P6Q7R8S9TAVBWCX",
        "fn": REF,
        "args": pack([2, (3, 4)]),
        "kwargs": pack({"k": b"v"}),
        "prefix": "scenes/0007",
        **changes,
    }
    return Envelope(**fields)


def test_an_envelope_comes_back_equal():
    sent = envelope(key="once", cfg={"code": {"commit": "abc"}}, parent="01HX2K3M4N5P6Q7R8S9TAVBWCZ")
    assert Envelope.from_bytes(sent.to_bytes()) == sent


def test_the_bytes_are_the_documented_map():
    assert msgpack.unpackb(envelope().to_bytes()) == {
        "v": 1,
        "id": "01HX2K3M4N5P6Q7R8S9TAVBWCX",
        "fn": REF,
        "args": pack([2, (3, 4)]),
        "kwargs": pack({"k": b"v"}),
        "prefix": "scenes/0007",
        "key": None,
        "cfg": {},
        "parent": None,
    }


def test_arguments_come_back_with_their_types():
    args, kwargs = Envelope.from_bytes(envelope().to_bytes()).arguments()
    assert args == [2, (3, 4)]
    assert kwargs == {"k": b"v"}


def test_the_header_is_readable_when_the_arguments_are_not():
    received = Envelope.from_bytes(envelope(args=b"\xc1", kwargs=b"").to_bytes())
    assert (received.id, received.fn, received.prefix) == (envelope().id, REF, "scenes/0007")
    with pytest.raises(WireError):
        received.arguments()


@pytest.mark.parametrize("args, kwargs", [({}, {}), ([], []), ([], {1: 2}), (None, {})])
def test_arguments_of_another_shape_are_refused(args, kwargs):
    with pytest.raises(WireError, match="malformed arguments"):
        envelope(args=pack(args), kwargs=pack(kwargs)).arguments()


def test_a_newer_version_is_refused_with_the_upgrade():
    newer = envelope(v=WIRE_VERSION + 1).to_bytes()
    with pytest.raises(WireError, match=r"version 2 .*upgrade dreamlake-lakeshore .*lakeshore-kube"):
        Envelope.from_bytes(newer)


def test_a_newer_version_is_named_even_when_its_fields_have_changed():
    with pytest.raises(WireError, match="upgrade"):
        Envelope.from_bytes(pack({"v": 9, "call": []}))


def test_unknown_settings_and_fields_are_kept_for_the_next_hop():
    raw = msgpack.unpackb(envelope(cfg={"gpu": {"mem": 40}, "n": 1}).to_bytes()) | {"trace": {"id": 7}}
    received = Envelope.from_bytes(msgpack.packb(raw))
    assert received.cfg == {"gpu": {"mem": 40}, "n": 1}
    assert received.extra == {"trace": {"id": 7}}
    assert msgpack.unpackb(received.to_bytes()) == raw


@pytest.mark.parametrize("name", ["v", "id", "fn", "args", "kwargs"])
def test_a_missing_field_is_refused(name):
    raw = msgpack.unpackb(envelope().to_bytes())
    del raw[name]
    with pytest.raises(WireError):
        Envelope.from_bytes(msgpack.packb(raw))


@pytest.mark.parametrize("name", ["v", "id", "fn", "args", "kwargs", "prefix", "key", "cfg", "parent"])
@pytest.mark.parametrize("bad", [3.5, True, [1]])
def test_a_field_of_the_wrong_type_is_refused_by_name(name, bad):
    raw = msgpack.unpackb(envelope().to_bytes()) | {name: bad}
    with pytest.raises(WireError, match="version" if name == "v" else name):
        Envelope.from_bytes(msgpack.packb(raw))


@settings(deadline=None)
@given(st.integers(min_value=0), st.integers(min_value=0, max_value=255), st.integers(min_value=0))
def test_a_damaged_envelope_is_an_envelope_or_a_wire_error(position, byte, cut):
    whole = bytearray(envelope().to_bytes())
    whole[position % len(whole)] = byte
    damaged = bytes(whole[: len(whole) - cut % 3])
    try:
        received = Envelope.from_bytes(damaged)
    except WireError:
        return
    assert type(received.args) is bytes
    assert Envelope.from_bytes(received.to_bytes()) == received


@pytest.mark.parametrize("data", [b"", b"\xc1", pack([1]), pack("text"), pack({}), b"\x80\x00"])
def test_what_is_no_envelope_is_refused(data):
    with pytest.raises(WireError):
        Envelope.from_bytes(data)
