"""Frames as one short text each. Nothing is executed, unpickled or handed to numpy, torch or Pillow. Pure.

Types that need those show as what their header says; bytes that are no frame, and codes that nobody here knows, as
their size and first bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple

import msgpack

from dreamlake.lakeshore.wire import FrameKind, codec
from lakeshore_controlplane.api.ui.words import size

LARGEST = 64 * 1024
"""Bytes of a frame that is looked into."""
_LONGEST = 2_000
_MOST_ITEMS = 24
_DEEPEST = 6
_HEX_BYTES = 16
_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")")}
_NUMPY = re.compile(r"[<>|=]?([fiuc])(\d{1,2})", re.ASCII)
_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
_PLAIN_CODES = codec.FAMILIES["plain"].codes | codec.FAMILIES["times"].codes | codec.FAMILIES["exact"].codes


class FrameText(NamedTuple):
    """A frame as it is shown: ``kind`` in lower case, empty for bytes that are no frame."""

    kind: str
    text: str


class _Note(str):
    """Words about a value that is not shown itself."""

    __slots__ = ()


def frame_text(data: bytes) -> FrameText:
    """Say what a frame holds. Never raises."""
    if len(data) > LARGEST:
        return FrameText("", _hex(data))
    try:
        raw = _unpack(data, 0)
        kind, _seq, body, meta = raw
        name = FrameKind(kind).name.lower()
    except Exception:  # whatever is wrong with foreign bytes
        return FrameText("", _hex(data))
    return FrameText(name, _body_text(name, body, meta))


def _body_text(kind: str, body: object, meta: object) -> str:
    if kind == "error" and isinstance(body, dict):
        return value_text(f"{body.get('type')}: {body.get('message')}")
    if body is None and kind in ("begin", "end"):
        return value_text(meta) if meta else ""
    return value_text(body)


def value_text(value: object) -> str:
    """Say a value of built-in types in at most about 2,000 characters."""
    if type(value) is str:
        return value if len(value) <= _LONGEST else value[:_LONGEST] + " ..."
    written = _Writer()
    written.add(value, 0)
    return written.text()


class _Writer:
    """Writes values like Python would, until the text is long enough."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def text(self) -> str:
        found = "".join(self._parts)
        return found if len(found) <= _LONGEST else found[:_LONGEST] + " ..."

    def add(self, value: object, depth: int) -> None:
        if self._length > _LONGEST:
            return
        if isinstance(value, dict):
            self._pairs(value, depth)
        elif isinstance(value, list | tuple | set | frozenset):
            begin, end = _BRACKETS.get(type(value), ("{", "}"))
            self._items(value, begin, end, depth)
        else:
            self._put(_scalar(value))

    def _pairs(self, value: dict[object, object], depth: int) -> None:
        if depth >= _DEEPEST:
            return self._put("{...}")
        self._put("{")
        for place, (key, item) in enumerate(_first(value.items())):
            self._put(", " if place else "")
            self.add(key, depth + 1)
            self._put(": ")
            self.add(item, depth + 1)
        return self._put(_more(len(value)) + "}")

    def _items(self, value: Collection[object], begin: str, end: str, depth: int) -> None:
        if depth >= _DEEPEST:
            return self._put(f"{begin}...{end}")
        self._put(begin)
        for place, item in enumerate(_first(value)):
            self._put(", " if place else "")
            self.add(item, depth + 1)
        return self._put(_more(len(value)) + end)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def _more(length: int) -> str:
    return f", ... {length - _MOST_ITEMS:,} more" if length > _MOST_ITEMS else ""


def _first(items: Iterable[Any]) -> list[Any]:
    return list(islice(items, _MOST_ITEMS))


def _scalar(value: object) -> str:
    if isinstance(value, _Note):
        return str(value)
    if isinstance(value, str):
        return repr(value[: _LONGEST + 1])
    if isinstance(value, bytes):
        return _hex(value)
    if isinstance(value, int) and value.bit_length() > 256:
        return f"<a whole number of {value.bit_length()} bits>"
    if isinstance(value, msgpack.ExtType):
        return _hex(value.data, f"type {value.code}, ")
    return str(value)[:_LONGEST]


def _hex(data: bytes, what: str = "") -> str:
    more = " ..." if len(data) > _HEX_BYTES else ""
    return f"<{what}{size(len(data))}: {data[:_HEX_BYTES].hex(' ')}{more}>"


def _unpack(data: bytes, depth: int) -> Any:
    """Unpack after a walk that builds nothing has proven that every claimed item is there."""
    if depth > _DEEPEST:
        return _Note(_hex(data))

    def extension(code: int, inner: bytes) -> object:
        return _extension(code, inner, depth + 1)

    options = {"strict_map_key": False, "max_buffer_size": max(1, len(data))}
    msgpack.Unpacker(BytesIO(data), **options).skip()
    return msgpack.unpackb(data, ext_hook=extension, unicode_errors="replace", strict_map_key=False)


def _extension(code: int, data: bytes, depth: int) -> object:
    try:
        payload = _unpack(data, depth)
        if code in _PLAIN_CODES:
            known = codec.for_code(code)
            return known.decode(payload) if known is not None else msgpack.ExtType(code, data)
        return _Note(_described(code, payload))
    except Exception:  # a code with other content than it should have
        return _Note(_hex(data, f"type {code}, "))


def _described(code: int, payload: object) -> str:
    """Say what arrays, tensors and images are by their headers. Raises for any other form."""
    if not isinstance(payload, list) or not isinstance(payload[-1], bytes | str):
        raise TypeError("expected a header and bytes")
    head, raw = payload[:-1], payload[-1]
    told = size(len(raw))
    if code in (1, 2):
        dtype, shape = head
        sides = " x ".join([f"{int(side)}" for side in shape]) or "one item"
        return f"<{'array' if code == 1 else 'tensor'} of {_dtype(dtype)}, {sides}, {told}>"
    if code == 3:
        return f"<image {str(head[0])[:80]}, {told}>"
    if code == 26:
        return f"<numpy {_dtype(head[0])}>"
    raise ValueError("unknown")


def _dtype(name: object) -> str:
    """Say numpy's short names in words: ``<f4`` is float32."""
    found = _NUMPY.fullmatch(str(name))
    return f"{_KINDS[found[1]]}{int(found[2]) * 8}" if found else str(name)[:80]
