"""numpy arrays and scalars come back equal, owned and writable."""

from __future__ import annotations

import tracemalloc

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dreamlake.lakeshore.wire import WireError, pack, unpack

NESTED = np.dtype([("o", [("i", ">u2"), ("j", "S3")]), ("grid", "<f4", (2, 2)), ("name", "U4")])
ALIGNED = np.dtype([("a", "i1"), ("b", "f8")], align=True)
GAPS = np.dtype({"names": ["x", "y"], "formats": ["i2", "f4"], "offsets": [3, 9], "itemsize": 20})


def assert_same(back: np.ndarray, sent: np.ndarray) -> None:
    assert type(back) is np.ndarray
    assert back.dtype == sent.dtype
    assert back.dtype.str == sent.dtype.str
    assert back.shape == sent.shape
    assert back.tobytes() == sent.tobytes()
    assert back.flags.writeable
    assert back.flags.owndata


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.asfortranarray(np.arange(6.0).reshape(2, 3)), id="F-order"),
        pytest.param(np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0), id="permuted"),
        pytest.param(np.arange(10)[::-2], id="negative stride"),
        pytest.param(np.arange(10)[::10], id="one item of a stride"),
        pytest.param(np.broadcast_to(np.float32(3), (2, 2)), id="broadcast"),
        pytest.param(np.array(5), id="0-d"),
        pytest.param(np.zeros((), NESTED), id="0-d structured"),
        pytest.param(np.zeros((0, 3)), id="empty"),
        pytest.param(np.zeros((2, 0, 4), ">i8"), id="empty big-endian"),
        pytest.param(np.arange(3, dtype=">i4"), id="big-endian"),
        pytest.param(np.arange(3, dtype="<c16"), id="complex"),
        pytest.param(np.array([True, False]), id="bool"),
        pytest.param(np.array(["a", "bcd", ""]), id="text"),
        pytest.param(np.array([b"a", b"b\0c"]), id="bytes"),
        pytest.param(np.array(["2020-01-01", "NaT"], "M8[25us]"), id="datetime64"),
        pytest.param(np.array([1, -1], "m8[h]"), id="timedelta64"),
        pytest.param(np.ones(3, NESTED), id="structured"),
        pytest.param(np.zeros((2, 2), ALIGNED), id="aligned"),
        pytest.param(np.zeros(2, GAPS), id="gaps"),
        pytest.param(np.zeros(2, "V5"), id="void"),
        pytest.param(np.array([np.nan, -0.0, np.inf], np.float16), id="NaN"),
    ],
)
def test_report_38_arrays_of_every_layout_come_back_equal(array):
    assert_same(unpack(pack({"x": array}))["x"], array)


@settings(deadline=None)
@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, min_side=0)))
def test_report_38_any_plain_array_comes_back_equal(array):
    assert_same(unpack(pack(array)), array)


@pytest.mark.parametrize("size", [2, 32_766, 32_767, 32_768, 32_769, 500_000])
def test_the_payload_is_the_documented_triple_at_every_size(size):
    array = np.arange(size).astype("<i2")
    triple = msgpack.packb(["<i2", [size], array.tobytes()])
    assert pack([array]) == msgpack.packb([msgpack.ExtType(1, triple)])
    assert_same(unpack(pack([array]))[0], array)


@pytest.mark.parametrize(
    "dtype", [NESTED, ALIGNED, np.dtype("S7"), np.dtype([(f"f{i}", "<f8") for i in range(200)])]
)
def test_large_arrays_of_any_type_come_back_equal(dtype):
    array = np.frombuffer(np.random.default_rng(1).bytes(dtype.itemsize * 9000), dtype)
    if dtype is NESTED:  # not every four bytes are a character
        array = np.full(9000, np.array(((1, b"a"), 2.5, "xyz"), NESTED))
    assert_same(unpack(pack((1, array)))[1], array)


@pytest.mark.parametrize("cut", [1, 4, 70_000])
@pytest.mark.parametrize("grow", [False, True])
def test_a_large_array_that_was_cut_or_lengthened_is_a_wire_error(cut, grow):
    triple = msgpack.packb(["<i2", [70_000], bytes(140_000)])
    damaged = triple + b"\0" * cut if grow else triple[:-cut]
    with pytest.raises(WireError):
        unpack(msgpack.packb(msgpack.ExtType(1, damaged)))


def test_large_arrays_cost_few_copies():
    array = np.ones(4_000_000)
    data = pack(array)
    tracemalloc.start()
    try:
        unpack(data)
        assert tracemalloc.get_traced_memory()[1] < 2.1 * array.nbytes
        tracemalloc.reset_peak()
        pack(array)
        assert tracemalloc.get_traced_memory()[1] < 3.6 * array.nbytes
    finally:
        tracemalloc.stop()


def test_changing_what_came_back_changes_nothing_else():
    data = pack(np.arange(4))
    first, second = unpack(data), unpack(data)
    first[:] = 9
    assert second.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "scalar",
    [
        np.float64(1.5),
        np.float32("nan"),
        np.int8(-3),
        np.uint64(2**64 - 1),
        np.bool_(True),
        np.complex64(1 - 2j),
        np.str_("héllo\0"),
        np.str_(""),
        np.bytes_(b"x\0"),
        np.datetime64("2024-01-01T00:00", "m"),
        np.timedelta64(4, "25s"),
        np.array((1, 2.5), "i1,>f8")[()],
    ],
)
def test_scalars_keep_their_numpy_type(scalar):
    back = unpack(pack([scalar]))[0]
    assert type(back) is type(scalar)
    assert back.dtype == scalar.dtype
    assert repr(back) == repr(scalar)


def test_a_numpy_scalar_is_a_key_too():
    back = unpack(pack({np.int64(3): 1}))
    assert type(next(iter(back))) is np.int64


@pytest.mark.parametrize("array", [np.array([None, "x"]), np.zeros(2, [("a", "O")])])
def test_object_arrays_are_refused_with_the_way_out(array):
    with pytest.raises(TypeError, match=r"tolist\(\)"):
        pack(array)


@pytest.mark.parametrize("array", [np.ma.array([1], mask=[True]), np.recarray((1,), [("a", "i4")])])
def test_array_subclasses_are_refused_with_the_way_out(array):
    with pytest.raises(TypeError, match=r"numpy\.asarray"):
        pack(array)


@pytest.mark.parametrize(
    "payload",
    [
        ["<f8", [2], b"\0" * 15],
        ["<f8", [2**40], b""],
        ["|u1", [5], b"x"],
        ["<f8", [2**62, 2**62, 0], b"\0"],
        ["<f8", [-1], b""],
        ["<f8", [True], b"\0" * 8],
        ["<f8", 2, b"\0" * 16],
        ["<f8", [1] * 65, b"\0" * 8],
        ["|O", [1], b"\0" * 8],
        ["O", [0], b""],
        ["f8,O", [1], b"\0" * 16],
        ["f8,i4", [1], b"\0" * 12],
        ["|T16", [1], b"\0" * 16],
        ["|V2147483647", [0], b""],
        [[("a", "|O")], [1], b"\0" * 8],
        [[("a", "<i4", (2**30,))], [1], b"\0" * 8],
        [["a"], [1], b""],
        ["<f8", [1]],
        {"dtype": "<f8"},
        "<f8",
        ["(3,)f8", [1], b"\0" * 24],
        ["<f8", [1], "text"],
    ],
)
def test_a_malformed_array_is_a_wire_error(payload):
    with pytest.raises(WireError):
        unpack(msgpack.packb(msgpack.ExtType(1, pack(payload))))


@settings(deadline=None)
@given(st.binary(max_size=40), st.sampled_from([1, 26]))
def test_arbitrary_array_payloads_raise_only_wire_errors(payload, code):
    try:
        unpack(msgpack.packb(msgpack.ExtType(code, payload)))
    except WireError as problem:
        assert str(problem)
