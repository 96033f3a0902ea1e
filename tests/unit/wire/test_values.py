"""Values come back equal and of the same type."""

from __future__ import annotations

import math
import tracemalloc
from decimal import Decimal
from uuid import UUID

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dreamlake.lakeshore.wire import WireError, pack, unpack

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.timezones())
    | st.times()
    | st.timedeltas()
)
KEYS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
VALUES = st.recursive(
    KEYS | st.sets(KEYS, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


def same(one: object, other: object) -> bool:
    """Equal with equal types all the way down; NaN is like NaN, and 0.0 unlike -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(map(same, one.items(), other.items()))
    if isinstance(one, float):
        return repr(one) == repr(other)
    return one == other


@settings(deadline=None, max_examples=400)
@given(VALUES)
def test_any_nested_value_comes_back_with_its_types(value):
    assert same(unpack(pack(value)), value)


@settings(deadline=None)
@given(VALUES)
def test_packing_what_came_back_gives_values_of_the_same_size(value):
    assert len(pack(unpack(pack(value)))) == len(pack(value))


@pytest.mark.parametrize("number", [2**64, 2**64 - 1, 2**63, -(2**63), -(2**63) - 1, 10**40, -(10**40)])
def test_report_35_integers_beyond_64_bits_are_exact(number):
    assert unpack(pack([number, {number: -number}])) == [number, {number: -number}]


def test_report_35_integers_of_any_size_are_exact():
    assert unpack(pack((1 << 70_000) + 1)) == (1 << 70_000) + 1


@settings(deadline=None)
@given(st.integers())
def test_report_35_every_integer_is_exact(number):
    back = unpack(pack(number))
    assert type(back) is int
    assert back == number


@pytest.mark.parametrize(
    "key",
    [
        7,
        -1,
        2**80,
        (1, 2),
        (1, (2, (3,))),
        (),
        None,
        b"raw",
        "",
        True,
        1.5,
        frozenset({1, (2,)}),
        Decimal("1.10"),
    ],
)
def test_report_36_keys_of_any_hashable_type_round_trip(key):
    back = unpack(pack({key: [key]}))
    assert back == {key: [key]}
    assert same(next(iter(back)), key)


def test_nan_and_infinities_come_back():
    values = unpack(
        pack([math.nan, math.inf, -math.inf, complex(math.nan, -0.0), Decimal("NaN"), Decimal("-0")])
    )
    assert [repr(value) for value in values] == [
        "nan",
        "inf",
        "-inf",
        "(nan-0j)",
        "Decimal('NaN')",
        "Decimal('-0')",
    ]


def test_a_tuple_is_extension_5_and_native_values_are_plain_msgpack():
    assert pack((1, 2)) == msgpack.packb(msgpack.ExtType(5, b"\x92\x01\x02"))
    native = {"a": [1, -2.5, None, True, b"x", "y"]}
    assert pack(native) == msgpack.packb(native)


def test_a_dict_that_looks_like_a_tag_stays_a_dict():
    tagged = {"ztype": "numpy.ndarray", "code": 1, "data": b""}
    assert unpack(pack(tagged)) == tagged


def test_bool_and_int_stay_apart():
    assert [type(value) for value in unpack(pack([True, 1, 0, False]))] == [bool, int, int, bool]


@pytest.mark.parametrize("buffer", [bytearray(b"abc"), memoryview(b"abc")])
def test_other_buffers_arrive_as_bytes(buffer):
    assert unpack(pack([buffer])) == [b"abc"]


def test_an_unknown_extension_passes_through_unharmed():
    raw = msgpack.packb({"new": msgpack.ExtType(99, b"\xc1anything"), "in": [msgpack.ExtType(6, b"")]})
    value = unpack(raw)
    assert value == {"new": msgpack.ExtType(99, b"\xc1anything"), "in": [msgpack.ExtType(6, b"")]}
    assert pack(value) == raw


def test_an_unknown_extension_inside_a_known_one_passes_too():
    value = (1, msgpack.ExtType(77, b"x"))
    assert unpack(pack(value)) == value


def test_packing_works_from_many_threads_and_inside_codecs():
    from concurrent.futures import ThreadPoolExecutor

    values = [{"n": (i, {i: (i, 10**30 + i)})} for i in range(300)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda v: unpack(pack(v)), values)) == values


def test_a_failed_pack_leaves_nothing_behind_for_the_next():
    for _ in range(3):
        with pytest.raises(TypeError):
            pack([1, "long" * 5000, object()])
        assert pack([2, 3]) == b"\x92\x02\x03"


def test_a_large_value_leaves_no_memory_behind():
    large = [b"x" * 20_000_000]
    tracemalloc.start()
    try:
        assert len(pack(large)) > 20_000_000
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_uuid_comes_back_as_a_uuid():
    value = UUID("ac4ba80e-ea19-425a-b763-8ac38cc538c1")
    assert same(unpack(pack(value)), value)


def test_nested_tuples_are_limited_at_pack_time_with_the_way_out():
    value: object = 1
    for _ in range(32):
        value = (value,)
    assert unpack(pack(value)) == value
    with pytest.raises(WireError, match=r"deeper than 32.*flatter"):
        pack((value,))


def test_a_list_that_contains_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(WireError, match="contain themselves"):
        pack(loop)


def test_text_that_is_not_unicode_is_refused_with_the_way_out():
    with pytest.raises(WireError, match=r"os\.fsencode"):
        pack(["\ud800"])
