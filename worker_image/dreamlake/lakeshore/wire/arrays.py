"""Extensions for numpy: arrays ``[dtype, shape, raw]`` and scalars ``[dtype, raw]``.

``dtype`` is ``dtype.str``, or the field list of ``numpy.lib.format.dtype_to_descr`` for structured types.
``raw`` holds the items in C order. Arrays come back in C order, owned and writable. Text scalars are
``["U", text]`` and ``["S", bytes]``.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from dreamlake.lakeshore.wire.codec import Codec, add

# Types whose bytes are the value. Object and variable-width string arrays hold pointers instead.
_PLAIN_TEXT = re.compile(r"[<>|=]?(?:[biufc]\d{1,2}|[SUV]\d{1,10}|[mM]8(?:\[\d*[a-zA-Zμ]{1,2}\])?)")
_MAX_DIMENSIONS = 64
_LARGEST_EMPTY_ITEM = 1 << 20


def encode_dtype(dtype: np.dtype[Any]) -> Any:
    """Give the wire form of a dtype. Raises ``TypeError`` for one whose bytes do not make its values."""
    if dtype.hasobject:
        raise TypeError(
            "cannot pack a numpy array of Python objects: "
            "convert it, for example array.astype(float), or send array.tolist()"
        )
    descr = dtype.str if dtype.fields is None else dtype_to_descr(dtype)
    try:
        same = bool(decode_dtype(descr) == dtype)
    except (TypeError, ValueError):
        same = False
    if not same:
        raise TypeError(
            f"cannot pack numpy items of type {dtype}: send array.view() of a standard type, "
            "for example numpy.uint16 for bfloat16, or array.tolist()"
        )
    return descr


def decode_dtype(descr: Any) -> np.dtype[Any]:
    """Read the wire form of a dtype. Raises ``ValueError`` or ``TypeError``."""
    _check_descr(descr)
    dtype: np.dtype[Any] = np.dtype(descr) if isinstance(descr, str) else descr_to_dtype(descr)
    if dtype.hasobject or dtype.subdtype is not None:
        raise ValueError(f"dtype {descr!r} does not describe plain items")
    return dtype


def _check_descr(descr: Any) -> None:
    if isinstance(descr, str):
        if _PLAIN_TEXT.fullmatch(descr) is None:
            raise ValueError(f"dtype {descr!r} does not describe plain items")
        return
    if not isinstance(descr, list):
        raise TypeError("a dtype is text or a list of fields")
    for field in descr:
        if not isinstance(field, tuple) or len(field) not in {2, 3}:
            raise ValueError(f"{field!r} is not a field of a dtype")
        _check_descr(field[1])


def _encode_array(array: np.ndarray[Any, Any]) -> list[Any]:
    # A view of bytes: packing copies straight from the array when it is contiguous.
    return [encode_dtype(array.dtype), list(array.shape), _raw(array)]


def _raw(array: np.ndarray[Any, Any]) -> memoryview | bytes:
    contiguous = np.ascontiguousarray(array)
    if contiguous.nbytes == 0:
        return b""
    return contiguous.reshape(-1).view(np.uint8).data


def _decode_array(payload: Any) -> np.ndarray[Any, Any]:
    descr, shape, raw = payload
    return build_array(decode_dtype(descr), shape, raw)


def build_array(dtype: np.dtype[Any], shape: Any, raw: Any) -> np.ndarray[Any, Any]:
    """Make an owned, writable array of exactly the bytes ``raw``.

    Raises ``ValueError`` unless ``shape`` is a list of sizes and asks for just as many bytes as there are.
    """
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("a shape is a list of sizes")
    if not isinstance(raw, bytes | memoryview):
        raise TypeError("an array's items are bytes")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != len(raw) or len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"shape {shape} of {dtype} needs {wanted} bytes, there are {len(raw)}")
    if wanted == 0 and dtype.itemsize > _LARGEST_EMPTY_ITEM:  # numpy reserves one item even then
        raise ValueError(f"an empty array of items of {dtype.itemsize} bytes")
    array = np.empty(shape, dtype)
    if wanted:
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(raw, np.uint8)
    return array


def _encode_scalar(value: np.generic) -> list[Any]:
    # As arrays, or by str(), these would lose NULs at their end.
    if isinstance(value, np.str_):
        return ["U", str.__str__(value)]
    if isinstance(value, np.bytes_):
        return ["S", bytes(value)]
    array = np.asarray(value)
    return [encode_dtype(array.dtype), array.tobytes()]


def _decode_scalar(payload: Any) -> Any:
    descr, raw = payload
    if descr in ("U", "S"):
        if type(raw) is not (str if descr == "U" else bytes):
            raise TypeError(f"a {type(raw).__qualname__} is no text scalar")
        return np.str_(raw) if descr == "U" else np.bytes_(raw)
    return build_array(decode_dtype(descr), [1], raw)[0]


add(Codec(1, np.ndarray, encode=_encode_array, decode=_decode_array, bulk=True))
add(Codec(26, np.generic, encode=_encode_scalar, decode=_decode_scalar, subclasses=True))
