"""Request bodies: capped while they are read, proven before they are built, in msgpack or JSON."""

from __future__ import annotations

import asyncio
import base64
import json
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

import msgpack
from starlette.requests import ClientDisconnect, Request

from lakeshore_controlplane.faults import BadRequest, PayloadTooLarge

MSGPACK = "application/msgpack"
JSON = "application/json"
_SMALL_BYTES = 512
_COUNTED_FROM_BYTES = 256 << 10
_MOST_NESTING = 64
MOST_VALUES = 500_000
"""Values in one body, each item and field counted: a byte of msgpack can ask for a hundred bytes of memory."""
MOST_FREE_BYTES = 1 << 20
"""Bytes of one free-form part, about: it lies in a row together with arguments, result and error."""
SLOWEST_S = 30.0
"""Seconds without a byte after which a body is given up."""
_LONGEST = {"max_array_len": MOST_VALUES, "max_map_len": MOST_VALUES}


async def read_body(request: Request, limit: int) -> bytes:
    """Read the body, unpacked from gzip. Raises ``PayloadTooLarge`` before more than ``limit`` bytes are kept."""
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    body = await _collect(request, limit)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise BadRequest(
            f"Content-Encoding {encoding[:40]!r} is not known", hint="send gzip, or nothing encoded"
        )
    return _gunzip(body, limit)


async def _collect(request: Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SLOWEST_S) as patience:
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
                chunks.append(chunk)
                patience.reschedule(asyncio.get_running_loop().time() + SLOWEST_S)
    except ClientDisconnect as exc:
        raise BadRequest("the body ended early") from exc
    except TimeoutError as exc:
        raise BadRequest(f"no byte of the body came for {SLOWEST_S:g} s") from exc
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _gunzip(body: bytes, limit: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(body, limit + 1)
    except zlib.error as exc:
        raise BadRequest("the body is not gzip, as its Content-Encoding says") from exc
    if len(plain) > limit:
        raise _too_large(limit)
    if not unpacker.eof:
        raise BadRequest("the gzip body ends in the middle")
    return plain


def _too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"the body is larger than {limit} bytes, which is the most for this route")


def decode(body: bytes, content_type: str) -> Any:
    """Give the value in a body. An empty body is an empty map. Raises ``BadRequest``."""
    if not body:
        return {}
    if content_type.partition(";")[0].strip().lower() == JSON:
        return _from_json(body)
    return _from_msgpack(body)


def _from_json(body: bytes) -> Any:
    if len(body) > _COUNTED_FROM_BYTES and _json_values(body) > MOST_VALUES:
        raise _too_many()
    try:
        return json.loads(body.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        raise BadRequest(f"the body is not JSON: {str(exc)[:120]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _json_values(body: bytes) -> int:
    """Count values without building them; marks inside of texts count too."""
    return sum(body.count(mark) for mark in (b",", b"[", b"{"))


def _from_msgpack(body: bytes) -> Any:
    try:
        if len(body) > _SMALL_BYTES:  # a few bytes can claim lists of millions: prove that they are there
            _claimed(body).skip()
        hook = _counter() if len(body) > _COUNTED_FROM_BYTES else None
        return msgpack.unpackb(
            body,
            unicode_errors="surrogatepass",
            strict_map_key=True,
            object_hook=hook,
            list_hook=hook,
            **_LONGEST,
        )
    except PayloadTooLarge:
        raise
    except Exception as exc:
        if "exceeds max_" in str(exc) and len(body) > MOST_VALUES:
            raise _too_many() from None
        raise BadRequest(
            f"the body is not msgpack: {type(exc).__name__}", hint="or set Content-Type: application/json"
        ) from None


def _claimed(body: bytes) -> msgpack.Unpacker:
    return msgpack.Unpacker(BytesIO(body), max_buffer_size=len(body), strict_map_key=False, **_LONGEST)


def _counter() -> Callable[[Any], Any]:
    """Make a hook that stops a body while it is built: once too many lists and maps have come, with what they hold."""
    count = 0

    def add(built: Any) -> Any:
        nonlocal count
        count += 1 + len(built)
        if count > MOST_VALUES:
            raise _too_many()
        return built

    return add


def _too_many() -> PayloadTooLarge:
    return PayloadTooLarge(
        f"the body has more than {MOST_VALUES} values", hint="send it in parts, or as the bytes of a payload"
    )


def check_storable(value: Any) -> Any:
    """Give a free-form part of a body back. Raises ``ValueError`` for what a row cannot hold, or might misread."""
    if _weigh(value, 0) > MOST_FREE_BYTES:
        raise ValueError(f"larger than {MOST_FREE_BYTES} bytes: pass large values as arguments")
    return value


def _weigh(value: Any, depth: int) -> int:
    """Give about how many bytes of a row it takes."""
    if depth > _MOST_NESTING:
        raise ValueError(f"nested deeper than {_MOST_NESTING}")
    if isinstance(value, dict):
        return 8 + sum(_weigh_name(name) + _weigh(item, depth + 1) for name, item in value.items())
    if isinstance(value, list):
        return 8 + sum(8 + _weigh(item, depth + 1) for item in value)
    if isinstance(value, str):
        return _weigh_text(value)
    if isinstance(value, bytes):
        return 8 + len(value)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("a number beyond 64 bits")
    if not isinstance(value, bool | int | float | None):
        raise ValueError(f"a {type(value).__name__} cannot be stored")
    return 8


def _weigh_name(name: Any) -> int:
    if not isinstance(name, str) or not name or name[0] == "$" or "." in name or "\0" in name:
        raise ValueError("a field's name must be text without . and NUL that does not begin with $")
    return _weigh_text(name)


def _weigh_text(text: str) -> int:
    if text.isascii():
        return 8 + len(text)
    try:
        return 8 + len(text.encode())
    except UnicodeEncodeError:
        raise ValueError("text with a lone surrogate cannot be stored") from None


def bytes_of(value: Any) -> Any:
    """Read base64 text, as JSON bodies carry bytes; bytes stay as they are. Raises ``ValueError``."""
    if isinstance(value, str):
        return base64.b64decode(value, validate=True)
    return value
