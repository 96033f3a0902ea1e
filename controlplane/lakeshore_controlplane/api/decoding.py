"""Request bodies: capped while they are read, proven before they are built, in msgpack or JSON."""

from __future__ import annotations

import base64
import json
import zlib
from io import BytesIO
from typing import Any

import msgpack
from starlette.requests import ClientDisconnect, Request

from lakeshore_controlplane.faults import BadRequest, PayloadTooLarge

MSGPACK = "application/msgpack"
JSON = "application/json"
_SMALL_BYTES = 512
_MOST_NESTING = 64


async def read_body(request: Request, limit: int) -> bytes:
    """Read the body, unpacked from gzip. Raises ``PayloadTooLarge`` before more than ``limit`` bytes are kept."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
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
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            chunks.append(chunk)
    except ClientDisconnect as exc:
        raise BadRequest("the body ended early") from exc
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
    try:
        return json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        raise BadRequest(f"the body is not JSON: {str(exc)[:120]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _from_msgpack(body: bytes) -> Any:
    try:
        if len(body) > _SMALL_BYTES:  # a few bytes can claim lists of millions: prove that they are there
            msgpack.Unpacker(BytesIO(body), max_buffer_size=len(body), strict_map_key=False).skip()
        return msgpack.unpackb(body, unicode_errors="surrogatepass", strict_map_key=True)
    except Exception as exc:
        raise BadRequest(
            f"the body is not msgpack: {type(exc).__name__}", hint="or set Content-Type: application/json"
        ) from None


def check_storable(value: Any, depth: int = 0) -> Any:
    """Give a free-form part of a body back. Raises ``ValueError`` for what a row cannot hold, or might misread."""
    if depth > _MOST_NESTING:
        raise ValueError(f"nested deeper than {_MOST_NESTING}")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_field_name(name)
            check_storable(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            check_storable(item, depth + 1)
    elif isinstance(value, str):
        _check_text(value)
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("a number beyond 64 bits")
    elif not isinstance(value, str | bytes | bool | int | float | None):
        raise ValueError(f"a {type(value).__name__} cannot be stored")
    return value


def _check_field_name(name: Any) -> None:
    if not isinstance(name, str) or not name or name[0] == "$" or "." in name or "\0" in name:
        raise ValueError("a field's name must be text without . and NUL that does not begin with $")
    _check_text(name)


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("text with a lone surrogate cannot be stored") from None


def bytes_of(value: Any) -> Any:
    """Read base64 text, as JSON bodies carry bytes; bytes stay as they are. Raises ``ValueError``."""
    if isinstance(value, str):
        return base64.b64decode(value, validate=True)
    return value
