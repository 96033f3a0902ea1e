"""What a tensor's wire form must look like, checked before torch sees it."""

from __future__ import annotations

import math
from typing import Any

ITEM_BYTES: dict[str, int] = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
    "uint16": 2,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "uint32": 4,
    "int32": 4,
    "float32": 4,
    "uint64": 8,
    "int64": 8,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}
"""torch's name of each dtype that can travel -> bytes per item."""

SWAP_BYTES: dict[str, int] = {**ITEM_BYTES, "complex64": 4, "complex128": 8}
"""Bytes of what is reversed between byte orders: the parts of a complex number, not the pair."""

_MAX_DIMENSIONS = 64


def check_layout(name: Any, shape: Any, raw: Any) -> None:
    """Raise ``ValueError`` or ``TypeError`` unless the three make a dense tensor of exactly these bytes."""
    if not isinstance(name, str) or name not in ITEM_BYTES:
        raise ValueError(f"unknown tensor dtype {name!r}")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("a shape is a list of sizes")
    if not isinstance(raw, bytes | memoryview):
        raise TypeError("a tensor's items are bytes")
    wanted = math.prod(shape) * ITEM_BYTES[name]
    if wanted != len(raw) or len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"shape {shape} of {name} needs {wanted} bytes, there are {len(raw)}")


def in_wire_order(raw: bytes | memoryview, name: str, byteorder: str) -> bytes | memoryview:
    """Turn items in a machine's ``byteorder`` into little-endian ones, which the wire has, or back."""
    width = SWAP_BYTES[name]
    if byteorder == "little" or width == 1:
        return raw
    raw = bytes(raw)
    swapped = bytearray(len(raw))
    for place in range(width):
        swapped[place::width] = raw[width - 1 - place :: width]
    return bytes(swapped)
