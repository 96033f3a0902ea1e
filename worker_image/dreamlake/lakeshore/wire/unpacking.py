"""Bytes to value, without trusting the bytes.

A few bytes can claim lists of millions nested in one another. msgpack reserves a list's slots when it reads
its header, so a value is built at once only where that cannot cost much; otherwise its structure is walked
first without building anything, which proves that every claimed item is really there.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from msgpack import ExtraData, ExtType, OutOfData, Unpacker, unpackb

from dreamlake.lakeshore.errors import WireError
from dreamlake.lakeshore.wire import codec as codecs
from dreamlake.lakeshore.wire.packing import BIN32, BULK_BYTES, MAX_EXTENSION_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable

_SMALL_BYTES = 512
# Nested 170 deep (all that 512 bytes can hold), lists of up to 512 claimed items cost 700 KB for a moment.
_MSGPACK_LEVELS_LOG2 = 10
_SLOTS_PER_BYTE_LOG2 = 3
_FEWEST_SLOTS = 64


def unpack(data: bytes | bytearray | memoryview) -> Any:
    """Give the one value that ``data`` holds; arrays come back owned and writable.

    An extension code that nobody here knows stays ``msgpack.ExtType(code, data)``. Raises ``WireError`` for
    anything else that is not a packed value. Memory used stays within about 64 times ``len(data)``.
    """
    return _unpack_at(data, 0)


def _unpack_at(data: bytes | bytearray | memoryview, depth: int) -> Any:
    try:
        if len(data) <= _SMALL_BYTES:
            return unpackb(data, ext_hook=_HOOKS[depth], strict_map_key=False)
        return _unpack_large(data, _HOOKS[depth])
    except WireError:
        raise
    except Exception as problem:
        raise WireError(_explain(problem, data)) from problem


def _unpack_large(data: bytes | bytearray | memoryview, hook: Callable[[int, bytes], Any]) -> Any:
    # At most 1,024 lists are open at once (msgpack's own limit), each with this many slots of 8 bytes.
    slots = max(_FEWEST_SLOTS, len(data) >> (_MSGPACK_LEVELS_LOG2 - _SLOTS_PER_BYTE_LOG2))
    try:
        return unpackb(data, ext_hook=hook, strict_map_key=False, max_array_len=slots)
    except ValueError as problem:
        if "max_array_len" not in str(problem):
            raise
    _prove_complete(data)
    return unpackb(data, ext_hook=hook, strict_map_key=False)


def _prove_complete(data: bytes | bytearray | memoryview) -> None:
    """Walk one value without building it; raise ``OutOfData`` when it claims more than there is."""
    Unpacker(BytesIO(data), strict_map_key=False, max_buffer_size=len(data)).skip()


def _unpack_bulk(data: bytes, depth: int) -> list[Any] | None:
    """Read a list that ends in large bytes, with a view in their place; None when it is anything else."""
    reader = Unpacker(ext_hook=_HOOKS[depth], strict_map_key=False)
    reader.feed(data[:_SMALL_BYTES])
    try:
        items = [reader.unpack() for _ in range(reader.read_array_header() - 1)]
    except Exception:  # the ordinary way reads it, or says what is wrong
        return None
    start = reader.tell() + 5
    size = int.from_bytes(data[start - 4 : start], "big")
    if data[start - 5 : start - 4] != BIN32 or start + size != len(data):
        return None
    return [*items, memoryview(data)[start:]]


def _hook_at(depth: int) -> Callable[[int, bytes], Any]:
    """Make the reader of extensions found ``depth`` extensions deep."""

    def extension(code: int, data: bytes) -> Any:
        codec = codecs.by_code.get(code) or codecs.for_code(code)
        if codec is None:
            return ExtType(code, data)
        if depth >= MAX_EXTENSION_DEPTH:
            raise WireError(f"extensions are nested deeper than {MAX_EXTENSION_DEPTH}")
        payload = _unpack_bulk(data, depth + 1) if codec.bulk and len(data) > BULK_BYTES else None
        if payload is None:
            payload = _unpack_at(data, depth + 1)
        try:
            return codec.decode(payload)
        except WireError:
            raise
        except Exception as problem:
            reason = f"{type(problem).__name__}: {problem}"
            raise WireError(
                f"extension {code} does not hold a {codec.type.__qualname__}: {reason}"
            ) from problem

    return extension


_HOOKS = [_hook_at(depth) for depth in range(MAX_EXTENSION_DEPTH + 1)]


def _explain(problem: Exception, data: object) -> str:
    if not isinstance(data, bytes | bytearray | memoryview):
        return f"only bytes can be unpacked, not a {type(data).__qualname__}"
    if isinstance(problem, OutOfData) or "incomplete" in str(problem):
        return f"{len(data)} bytes end in the middle of a value, or claim more than they hold"
    if isinstance(problem, ExtraData):
        return f"bytes follow the packed value ({len(problem.extra)} of {len(data)})"
    return f"{len(data)} bytes are not a packed value: {type(problem).__name__}: {problem}"
