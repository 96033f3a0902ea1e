"""Who looks at a page, and whether a form was really sent from one of ours.

The cookie holds the token itself. A session of our own would need a store that all replicas share, or a secret that
they share, and could outlive the token; so a revoked or expired token ends every visit at once, and nothing has to be
kept. The cookie goes to ``/ui`` alone, and the rest of the API never reads it: no other site can make a browser use it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from lakeshore_controlplane.api.decoding import read_body
from lakeshore_controlplane.faults import BadRequest, Forbidden

TOKEN_COOKIE = "lakeshore_ui"  # noqa: S105 - a name
VISIT_COOKIE = "lakeshore_ui_visit"
"""A random secret for forms of those who have no token yet, or need none."""
FIELD = "form_key"
_KEPT_S = 12 * 3600
_LARGEST_FORM = 8 * 1024


def token_of(request: Request) -> str | None:
    """Give the token that the browser keeps, or None."""
    return request.cookies.get(TOKEN_COOKIE) or None


def authorization_of(request: Request) -> str | None:
    """Give what an API client would send as its Authorization."""
    token = token_of(request)
    return None if token is None else f"Bearer {token}"


def secret_of(request: Request) -> str | None:
    """Give what forms of this browser are signed with, or None for a first visit."""
    return token_of(request) or request.cookies.get(VISIT_COOKIE) or None


def new_secret() -> str:
    """Make a secret for a browser's first visit."""
    return secrets.token_urlsafe(24)


def form_key(secret: str) -> str:
    """Give the value that a form carries; another site cannot know it."""
    return hmac.new(secret.encode(), b"lakeshore ui form", hashlib.sha256).hexdigest()


async def read_form(request: Request) -> dict[str, str]:
    """Read a form that one of our pages sent. Raises ``Forbidden`` for another site's, ``BadRequest`` for no form."""
    _check_origin(request)
    raw = await read_body(request, _LARGEST_FORM)
    try:
        found = parse_qs(raw.decode("ascii"), keep_blank_values=True, max_num_fields=16)
    except ValueError:
        raise BadRequest("the form cannot be read") from None
    form = {name: values[0] for name, values in found.items()}
    secret = secret_of(request)
    given = form.pop(FIELD, "").encode("utf-8", "replace")
    if secret is None or not hmac.compare_digest(given, form_key(secret).encode()):
        raise Forbidden(
            "the form is out of date, or this browser keeps no cookies", hint="load the page anew"
        )
    return form


def _check_origin(request: Request) -> None:
    """Browsers say where a form comes from: by Sec-Fetch-Site, and where that is not sent by Origin."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        foreign = site != "same-origin"
    else:
        origin = request.headers.get("origin")
        foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if foreign:
        raise Forbidden("the form came from another site", hint="open the page of this control plane")


def keep_token(request: Request, response: Response, token: str) -> None:
    """Let the browser keep a token."""
    _set(request, response, TOKEN_COOKIE, token)


def keep_visit(request: Request, response: Response, secret: str) -> None:
    """Let the browser keep a secret for its forms."""
    _set(request, response, VISIT_COOKIE, secret)


def forget_token(request: Request, response: Response) -> None:
    """Take the token from the browser."""
    response.delete_cookie(TOKEN_COOKIE, path="/ui", secure=_https(request), httponly=True, samesite="strict")


def _set(request: Request, response: Response, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        max_age=_KEPT_S,
        path="/ui",
        secure=_https(request),
        httponly=True,
        samesite="strict",
    )


def _https(request: Request) -> bool:
    """Whether the browser came by https. A proxy's word suffices: a wrong one only loses the cookie."""
    said = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    return "https" in (request.url.scheme, said)
