"""Value to bytes: msgpack with extension types, exact about types.

A value comes back as the type it had, or is refused here with the way out; the exceptions are the buffers:
``bytearray`` and ``memoryview`` arrive as ``bytes``.
"""

from __future__ import annotations

from typing import Any

from msgpack import ExtType, Packer

from dreamlake.lakeshore.errors import WireError
from dreamlake.lakeshore.wire import codec as codecs
from dreamlake.lakeshore.wire.refusal import refusal

MAX_EXTENSION_DEPTH = 32
"""Extensions (tuples among them) inside one another. The reader spends some 50 KB of C stack on each."""

BULK_BYTES = 1 << 16
"""From this size on, the bytes of arrays are copied once less."""
BIN32 = b"\xc6"  # msgpack's header of bytes of four-byte length
_MOST_BYTES = 1 << 32

_BUFFER_BYTES = 8192
# An encoder's buffer keeps the size of the largest value it has seen; those above this are not kept.
_KEEP_BYTES = 1 << 20


class _Encoder:
    """A reusable packer. Only ever used by one call at a time: it is out of the pool meanwhile."""

    __slots__ = ("depth", "pack")

    def __init__(self) -> None:
        self.depth = 0
        self.pack = Packer(
            default=self._extension, strict_types=True, use_bin_type=True, buf_size=_BUFFER_BYTES
        ).pack

    def _extension(self, value: Any) -> ExtType:
        codec = codecs.by_type.get(type(value)) or codecs.for_type(type(value))
        if codec is None:
            raise TypeError(refusal(value))
        if self.depth >= MAX_EXTENSION_DEPTH:
            raise WireError(
                f"tuples, sets or other extension values are nested deeper than {MAX_EXTENSION_DEPTH}: "
                "send a flatter value, or use lists"
            )
        pack_payload = _pack_bulk if codec.bulk else _pack_at
        return ExtType(codec.code, pack_payload(codec.encode(value), self.depth + 1))


# list.pop and list.append are atomic, so the pool is safe under threads, forks and codecs that call pack().
_pool: list[_Encoder] = []


def pack(value: Any) -> bytes:
    """Pack one value.

    Raises ``TypeError`` for a type that cannot travel, saying what to do, and ``WireError`` for a value that
    is too deep, too large (one leaf above 4 GiB) or holds text that is not Unicode.
    """
    return _pack_at(value, 0)


def _pack_at(value: Any, depth: int) -> bytes:
    try:
        encoder = _pool.pop()
    except IndexError:
        encoder = _Encoder()
    encoder.depth = depth
    keep = False
    try:
        data: bytes = encoder.pack(value)
        keep = len(data) <= _KEEP_BYTES
    except WireError:
        raise
    except (ValueError, OverflowError) as problem:
        raise WireError(_explain(problem)) from problem
    finally:
        if keep:
            _pool.append(encoder)
        else:
            del encoder.pack  # which refers back to the encoder: without it the buffer is freed now
    return data


def _pack_bulk(payload: Any, depth: int) -> bytes:
    """Pack a list that ends in bytes; large ones are joined to the rest instead of growing a packer's buffer."""
    size = len(payload[-1])
    if not BULK_BYTES <= size < _MOST_BYTES:
        return _pack_at(payload, depth)
    rest = _pack_at([*payload[:-1], b""], depth).removesuffix(b"\xc4\x00")
    return b"".join((rest, BIN32, size.to_bytes(4, "big"), payload[-1]))


def _explain(problem: Exception) -> str:
    if isinstance(problem, UnicodeEncodeError):
        return (
            f"text that is not valid Unicode cannot be packed ({problem}): "
            "send an undecodable file name as os.fsencode(name)"
        )
    if "recursion" in str(problem):
        return "lists or dicts are nested too deeply, or contain themselves: send a flatter value"
    return f"cannot pack this value: {problem}"
