"""Answers: msgpack or JSON by Accept, gzip where it pays."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import Any

import msgpack
from starlette.requests import Request
from starlette.responses import Response

from lakeshore_controlplane.api.decoding import JSON, MSGPACK
from lakeshore_controlplane.faults import Refusal

_GZIP_ABOVE = 64 << 10
_LONGEST_MESSAGE = 1500
"""Characters of a refusal: enough for a list of names, and no echo of whatever was sent."""


def encode(request: Request, value: object, *, status: int = 200, prefer: str = MSGPACK) -> Response:
    """Encode ``value`` as the caller accepts it; ``prefer`` where it does not say."""
    media = _media(request.headers.get("accept", ""), prefer)
    body = _to_json(value) if media == JSON else msgpack.packb(value, unicode_errors="surrogatepass")
    headers: dict[str, str] = {}
    if len(body) > _GZIP_ABOVE and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(body, status, headers, media)


def encode_refusal(request: Request, refusal: Refusal, prefer: str) -> Response:
    """Encode a refusal, with Retry-After where waiting helps."""
    error = refusal.to_dict()
    if len(refusal.message) > _LONGEST_MESSAGE:
        error["message"] = f"{refusal.message[:_LONGEST_MESSAGE]}..."
    response = encode(request, {"error": error}, status=refusal.status, prefer=prefer)
    if refusal.retry_after_s is not None:
        response.headers["retry-after"] = str(max(1, round(refusal.retry_after_s)))
    if refusal.status == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def _media(accept: str, prefer: str) -> str:
    if prefer == MSGPACK:
        return JSON if JSON in accept and MSGPACK not in accept else MSGPACK
    return MSGPACK if MSGPACK in accept and JSON not in accept else JSON


def _to_json(value: object) -> bytes:
    try:
        return json.dumps(value, default=_plain, allow_nan=False).encode()
    except ValueError:  # a free-form part holds what msgpack can say and JSON cannot
        return json.dumps(_finite(value), default=_plain, allow_nan=False).encode()


def _finite(value: Any) -> Any:
    """Give null for each number that JSON has no word for."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")
