"""What a tensor's wire form is, without torch: names, sizes, byte order."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dreamlake.lakeshore.wire.tensor_layout import ITEM_BYTES, check_layout, in_wire_order

READ_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as on a machine that lacks it
from dreamlake.lakeshore import wire
import msgpack
data = msgpack.packb(msgpack.ExtType(2, wire.pack(["bfloat16", [3], bytes(6)])))
try:
    wire.unpack(data)
except wire.WireError as problem:
    print(problem)
"""


@pytest.mark.parametrize("name", ITEM_BYTES)
def test_every_dtype_is_checked_by_its_width(name):
    width = ITEM_BYTES[name]
    check_layout(name, [2, 3], bytes(6 * width))
    check_layout(name, [], bytes(width))
    check_layout(name, [0, 5], b"")
    with pytest.raises(ValueError, match=f"needs {6 * width} bytes"):
        check_layout(name, [2, 3], bytes(6 * width - 1))


@pytest.mark.parametrize(
    "name",
    ["bool", "uint8", "int16", "uint16", "float16", "int32", "float32", "int64", "float64", "complex128"],
)
def test_widths_are_those_of_numpy(name):
    assert ITEM_BYTES[name] == np.dtype(name).itemsize


@pytest.mark.parametrize(
    "name, shape, raw",
    [
        ("Tensor", [1], b"\0"),
        ("load", [1], b"\0"),
        (None, [1], b"\0"),
        (["float32"], [1], b"\0" * 4),
        ("float32", [-1], b""),
        ("float32", [True], b"\0" * 4),
        ("float32", [1.0], b"\0" * 4),
        ("float32", 1, b"\0" * 4),
        ("uint8", [1] * 65, b"\0"),
        ("uint8", [1], "x"),
    ],
)
def test_what_is_no_tensor_is_refused(name, shape, raw):
    with pytest.raises((ValueError, TypeError)):
        check_layout(name, shape, raw)


def test_bfloat16_is_the_upper_half_of_float32_on_the_wire():
    numbers = np.array([1.0, 2.0, -3.0], "<f4")
    raw = numbers.view("<u2")[1::2].tobytes()
    check_layout("bfloat16", [1, 3], raw)
    assert raw.hex() == "803f004040c0"
    assert in_wire_order(raw, "bfloat16", "little") == raw


@settings(deadline=None)
@given(
    st.sampled_from(["bfloat16", "int32", "float64", "uint8", "complex64", "complex128"]),
    st.binary(max_size=8),
)
def test_a_big_endian_machine_reads_and_writes_the_same_wire(name, seed):
    raw = (seed or b"\1") * ITEM_BYTES[name]
    there = in_wire_order(raw, name, "big")
    assert in_wire_order(there, name, "big") == raw
    if name in {"int32", "float64", "complex128"}:
        kind = np.dtype(name)
        assert (
            np.frombuffer(there, kind.newbyteorder(">")).tobytes()
            == np.frombuffer(raw, kind).byteswap().tobytes()
        )


def test_a_tensor_on_a_machine_without_torch_names_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", READ_WITHOUT_TORCH], capture_output=True, text=True, timeout=60, check=True
    )
    assert "extension 2, which needs torch: install it" in done.stdout
