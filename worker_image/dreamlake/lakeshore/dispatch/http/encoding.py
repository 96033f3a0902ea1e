"""Bodies of requests and answers: msgpack, gzipped where they are large."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import msgpack

from dreamlake.lakeshore.dispatch.http.answers import MAX_ANSWER_BYTES, GarbledError
from dreamlake.lakeshore.errors import ConfigError

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.answers import Answer

GZIP_ABOVE = 64 << 10
"""Bytes above which a body is worth compressing."""
MSGPACK = "application/msgpack"
RAW = "application/octet-stream"
_SAMPLE = 16 << 10
_GZIP = 31  # zlib's name for the largest window with gzip's head and tail


def encode(body: object) -> bytes:
    """Pack a request's body. Raises ``ConfigError`` for a value that no request can carry."""
    try:
        packed: bytes = msgpack.packb(body, use_bin_type=True, unicode_errors="surrogatepass")
    except (TypeError, ValueError, OverflowError) as exc:
        raise ConfigError(f"a value of this request cannot be sent ({exc}): use plain values") from exc
    return packed


def compress(data: bytes) -> bytes | None:
    """Give the gzipped bytes, or None where that is not worth it: images and the like shrink no further."""
    if len(data) <= GZIP_ABOVE or len(zlib.compress(data[:_SAMPLE], 1)) > _SAMPLE * 0.8:
        return None
    packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
    return packer.compress(data) + packer.flush()


def decode(answer: Answer) -> Any:
    """Unpack an answer's body, which is msgpack or JSON. Raises ``GarbledError`` for anything else."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    data = plain_bytes(answer)
    try:
        if kind == MSGPACK:
            return msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogatepass")
        if kind == "application/json":
            return json.loads(data)
    except (ValueError, RecursionError, msgpack.UnpackException) as exc:
        raise GarbledError(f"the answer cannot be read as {kind}") from exc
    raise GarbledError(f"the answer is {kind or 'of no known kind'}, not msgpack")


def plain_bytes(answer: Answer) -> bytes:
    """Give an answer's bytes, unzipped. Raises ``GarbledError``."""
    coding = answer.headers.get("content-encoding", "identity").lower()
    if coding == "identity":
        return answer.body
    if coding != "gzip":
        raise GarbledError(f"the answer is encoded as {coding}, which was not asked for")
    unpacker = zlib.decompressobj(_GZIP)
    try:
        data = unpacker.decompress(answer.body, MAX_ANSWER_BYTES)
    except zlib.error as exc:
        raise GarbledError("the answer's gzip is broken") from exc
    if not unpacker.eof:
        raise GarbledError(f"the answer's gzip ends early, or holds more than {MAX_ANSWER_BYTES} bytes")
    return data
