"""Extensions for built-in types that msgpack lacks: tuple, int beyond 64 bits, complex, set, frozenset."""

from __future__ import annotations

from typing import Any

from dreamlake.lakeshore.wire.codec import Codec, add


def _encode_int(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _decode_int(raw: Any) -> int:
    if not isinstance(raw, bytes):
        raise TypeError("expected bytes")
    return int.from_bytes(raw, "big", signed=True)


def _decode_complex(parts: Any) -> complex:
    real, imaginary = parts
    if type(real) is not float or type(imaginary) is not float:
        raise TypeError("expected two floats")
    return complex(real, imaginary)


def _items(payload: Any) -> list[Any]:
    if not isinstance(payload, list):
        raise TypeError("expected a list")
    return payload


add(Codec(5, tuple, encode=list, decode=lambda payload: tuple(_items(payload))))
add(Codec(16, int, encode=_encode_int, decode=_decode_int))
add(Codec(23, complex, encode=lambda value: [value.real, value.imag], decode=_decode_complex))
add(Codec(24, set, encode=list, decode=lambda payload: set(_items(payload))))
add(Codec(25, frozenset, encode=list, decode=lambda payload: frozenset(_items(payload))))
