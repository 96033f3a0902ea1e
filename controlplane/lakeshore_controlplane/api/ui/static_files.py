"""The style, the script and the icon: part of the package, named by their content so that browsers keep them."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.responses import Response

from lakeshore_controlplane.faults import NotFound

_MEDIA = {
    "ui.css": "text/css; charset=utf-8",
    "ui.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_CONTENT = {name: (files(__package__) / "static" / name).read_bytes() for name in _MEDIA}
_VERSION = {name: hashlib.sha256(content).hexdigest()[:12] for name, content in _CONTENT.items()}


def address(name: str) -> str:
    """Give the address of a file; it changes with the content."""
    return f"/ui/static/{name}?v={_VERSION[name]}"


def static_file(name: str, version: str | None) -> Response:
    """Give a file. Raises ``NotFound``."""
    if name not in _CONTENT:
        raise NotFound("there is no such file")
    kept = "public, max-age=31536000, immutable" if version == _VERSION[name] else "no-cache"
    return Response(_CONTENT[name], media_type=_MEDIA[name], headers={"cache-control": kept})
