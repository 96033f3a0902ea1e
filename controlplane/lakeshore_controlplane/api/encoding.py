"""Answers: msgpack or JSON by Accept, gzip where it pays."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import msgpack
from starlette.requests import Request
from starlette.responses import Response

from lakeshore_controlplane.api.decoding import JSON, MSGPACK
from lakeshore_controlplane.faults import Refusal

_GZIP_ABOVE = 64 << 10


def encode(request: Request, value: object, *, status: int = 200, prefer: str = MSGPACK) -> Response:
    """Encode ``value`` as the caller accepts it; ``prefer`` where it does not say."""
    media = _media(request.headers.get("accept", ""), prefer)
    if media == JSON:
        body = json.dumps(value, default=_plain, allow_nan=False).encode()
    else:
        body = msgpack.packb(value, unicode_errors="surrogatepass")
    headers: dict[str, str] = {}
    if len(body) > _GZIP_ABOVE and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(body, status, headers, media)


def encode_refusal(request: Request, refusal: Refusal, prefer: str) -> Response:
    """Encode a refusal, with Retry-After where waiting helps."""
    response = encode(request, {"error": refusal.to_dict()}, status=refusal.status, prefer=prefer)
    if refusal.retry_after_s is not None:
        response.headers["retry-after"] = str(max(1, round(refusal.retry_after_s)))
    if refusal.status == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def _media(accept: str, prefer: str) -> str:
    if prefer == MSGPACK:
        return JSON if JSON in accept and MSGPACK not in accept else MSGPACK
    return MSGPACK if MSGPACK in accept and JSON not in accept else JSON


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")
