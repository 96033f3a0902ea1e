"""Bytes are not trusted: whatever they claim, reading them costs in proportion to their size."""

from __future__ import annotations

import tracemalloc

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dreamlake.lakeshore.wire import FrameReader, WireError, pack, unpack

FIXED = 1 << 20  # what an import or a first call may take once
PER_BYTE = 100
CODES = [1, 3, 5, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26]  # not 2: looking for torch allocates by itself


@pytest.fixture(autouse=True, scope="module")
def _codecs_loaded():
    """Imports are not what is measured."""
    for code in CODES:
        with pytest.raises(WireError):
            unpack(msgpack.packb(msgpack.ExtType(code, b"\xc1")))


def peak_of(call) -> int:
    """Bytes allocated at the worst moment of ``call``, which must end well or with a WireError."""
    tracemalloc.start()
    try:
        call()
    except WireError as problem:
        assert str(problem)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def array32(count: int) -> bytes:
    return b"\xdd" + count.to_bytes(4, "big")


def map32(count: int) -> bytes:
    return b"\xdf" + count.to_bytes(4, "big")


def bombs(size: int) -> dict[str, bytes]:
    """Inputs of ``size`` bytes that claim far more than they hold."""
    filler = b"\x00" * size
    return {
        "one list of 4 billion": array32(2**32 - 1),
        "one map of 4 billion": map32(2**32 - 1),
        "one text of 4 GiB": b"\xdb\xff\xff\xff\xff",
        "lists in lists, as many as fit": (array32(size) * 1000 + filler)[:size],
        "lists in lists, each half": (array32(size // 2) * 900 + filler)[:size],
        "short lists in lists": (b"\xdc\xff\xff" * 1000 + filler)[:size],
        "maps in maps": (map32(size // 4) * 1000 + filler)[:size],
        "lists in lists beyond any depth": b"\x91" * size,
        "an honest list before a bomb": (b"\x92" + pack(list(range(200))) + array32(size) * 500 + filler)[
            :size
        ],
    }


@pytest.mark.parametrize("size", [100, 511, 513, 5_000, 100_000, 1_000_000])
@pytest.mark.parametrize("name", bombs(100))
def test_a_bomb_costs_no_more_than_its_size_justifies(name, size):
    data = bombs(size)[name]
    with pytest.raises(WireError):
        unpack(data)
    assert peak_of(lambda: unpack(data)) < FIXED + PER_BYTE * len(data)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", bombs(100))
def test_a_bomb_inside_an_extension_is_bounded_too(name, code):
    data = msgpack.packb([msgpack.ExtType(code, bombs(50_000)[name])])
    assert peak_of(lambda: unpack(data)) < FIXED + PER_BYTE * len(data)


def test_extensions_nested_without_end_are_refused_before_the_stack_ends():
    data = pack(1)
    for _ in range(3000):
        data = msgpack.packb(msgpack.ExtType(5, data))
    with pytest.raises(WireError, match="deeper than 32"):
        unpack(data)


@pytest.mark.parametrize(
    "value", [list(range(100_000)), [[]] * 50_000, {i: [i] * 70 for i in range(500)}, [[0] * 300] * 9]
)
def test_large_honest_values_are_read(value):
    assert unpack(pack(value)) == value
    assert unpack(pack((value, [value]))) == (value, [value])


@settings(deadline=None, max_examples=500)
@given(st.binary(max_size=600))
def test_arbitrary_bytes_give_a_value_or_a_wire_error(data):
    assert peak_of(lambda: unpack(data)) < FIXED + PER_BYTE * len(data)


@settings(deadline=None)
@given(st.binary(max_size=64), st.sampled_from(CODES))
def test_arbitrary_extension_payloads_give_a_value_or_a_wire_error(payload, code):
    data = msgpack.packb({"k": msgpack.ExtType(code, payload)})
    assert peak_of(lambda: unpack(data)) < FIXED + PER_BYTE * len(data)


@settings(deadline=None)
@given(
    st.recursive(st.integers() | st.text() | st.none(), lambda v: st.lists(v) | st.tuples(v, v)), st.data()
)
def test_every_strict_prefix_is_refused(value, data):
    whole = pack(value)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(WireError):
        unpack(whole[:cut])


@pytest.mark.parametrize("name", bombs(100))
def test_a_frame_reader_holds_no_more_than_its_limit(name):
    data = bombs(1_000_000)[name]

    def read() -> None:
        reader = FrameReader(max_frame_bytes=200_000)
        for start in range(0, len(data), 10_000):
            for _ in reader.feed(data[start : start + 10_000]):
                pass

    assert peak_of(read) < 8 * FIXED


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"", "end in the middle"),
        (b"\xc1", "not a packed value"),
        (b"\x01\x02", "bytes follow"),
        (b"\xa1\xff", "not a packed value"),
        (b"\x92\x01", "end in the middle"),
        (b"\x81\x90\x01", "unhashable"),
        ("text", "only bytes"),
        (None, "only bytes"),
        (msgpack.packb(msgpack.ExtType(5, pack({}))), "extension 5 does not hold a tuple"),
        (msgpack.packb(msgpack.ExtType(24, pack([[]]))), "extension 24 does not hold a set"),
        (msgpack.packb(msgpack.ExtType(16, pack("1"))), "extension 16 does not hold a int"),
        (msgpack.packb(msgpack.ExtType(22, pack(b"short"))), "extension 22 does not hold a UUID"),
        (msgpack.packb(msgpack.ExtType(21, pack("one"))), "extension 21 does not hold a Decimal"),
        (msgpack.packb(msgpack.ExtType(23, pack([1.0]))), "extension 23 does not hold a complex"),
    ],
)
def test_malformed_bytes_are_named(data, reason):
    with pytest.raises(WireError, match=reason):
        unpack(data)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_can_be_read(kind):
    value = [1, "x" * 1000, (2, list(range(200)))]
    assert unpack(kind(pack(value))) == value
