"""The REST reference as Markdown, made from the route table: ``python -m lakeshore_controlplane.api.reference``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from lakeshore_controlplane.api.app import TABLE
from lakeshore_controlplane.api.routing import Endpoint

_TITLES = {
    "producer": "Producer routes",
    "daemon": "Daemon routes",
    "admin": "Admin routes",
    "operations": "Operations",
}
_SHOWN_LIMITS = (
    ("minimum", "from {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "to {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
)


def reference(table: list[Endpoint]) -> str:
    """Give every route by part: paths, scopes, what it does, the fields of its body."""
    return "\n".join(_lines(table)) + "\n"


def _lines(table: list[Endpoint]) -> Iterator[str]:
    for tag, title in _TITLES.items():
        yield from ("", f"## {title}", "")
        for endpoint in table:
            if endpoint.tag == tag:
                yield from _route(endpoint)


def _route(endpoint: Endpoint) -> Iterator[str]:
    paths = [path.replace(":path}", "}") for path in endpoint.paths]
    yield f"### {endpoint.method} {paths[0]}"
    yield ""
    for path in paths[1:]:
        yield f"Also `{path}`."
    text = " ".join(line.strip() for line in (endpoint.handler.__doc__ or "").splitlines())
    scopes = ", ".join(f"`{scope}`" for scope in sorted({*endpoint.scopes, "admin"}))
    yield f"{text.strip()} " + (f"Scopes: {scopes}." if endpoint.scopes else "Open.")
    yield ""
    if endpoint.body is not None:
        yield from _fields(endpoint.body)


def _fields(model: type[BaseModel]) -> Iterator[str]:
    schema = model.model_json_schema()
    required = set(schema.get("required", []))
    properties: dict[str, Any] = schema.get("properties", {})
    if not properties:
        return
    yield "| field | type | |"
    yield "|---|---|---|"
    for name, field in properties.items():
        note = "required" if name in required else _default(field)
        yield f"| `{name}` | {_type(field, schema.get('$defs', {}))} | {note} |"
    yield ""


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    return (
        "optional"
        if value is None
        else f"default `{value}`".replace("True", "true").replace("False", "false")
    )


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in field:
        return _object(definitions[field["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in field:
        kinds = [_type(option, definitions) for option in field["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        inner = _type(field.get("items", {}), definitions)
        return _limited(f"list of {inner}", field)
    kind = {"binary": "bytes"}.get(field.get("format", ""), field.get("type", "any"))
    return _limited({"object": "map", "string": "text"}.get(kind, kind), field)


def _object(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    names = ", ".join(f"`{name}`" for name in schema.get("properties", {}))
    return f"map of {names}" if names else "map"


def _limited(kind: str, field: dict[str, Any]) -> str:
    limits = [text.format(f"{field[name]:,}") for name, text in _SHOWN_LIMITS if name in field]
    return f"{kind}, {' '.join(limits)}" if limits else kind


_BEGINNING = """\
# REST reference

This page is made from the server's own route table (`python -m lakeshore_controlplane.api.reference`); a running server
gives the same as OpenAPI at `/openapi.json` and as a page at `/docs`.

**Access.** `Authorization: Bearer dlk_...`. A token belongs to a namespace and has scopes; `admin` includes the others.
Every route below a namespace has two forms: the short one means the token's own namespace (`default` for a token of all
namespaces), the long one names it. Another tenant's namespace, invocation, worker or payload answers 404.

**Bodies.** `application/msgpack` or `application/json`, by Content-Type; bytes are base64 text in JSON. Answers follow
Accept: msgpack by default on producer and daemon routes, JSON elsewhere. gzip is understood, and used above 64 KiB
where Accept-Encoding has it. Times are seconds; `deadline` is Unix time, everything else is on the plane's clock
(`/clock`).

**Errors.** `{"error": {"type", "message", "hint"?, "retry_after_s"?}}`:

| status | types |
|---|---|
| 400 | `bad_request` |
| 401, 403 | `unauthorized`, `forbidden` |
| 404 | `not_found`, `expired` (its retention is over) |
| 409 | `id_conflict`, `queue_unavailable`, `fenced`, `refused`, `deadline_too_near` |
| 413 | `payload_too_large`: nothing was stored |
| 429 | `queue_full`, `rate_limited`, with Retry-After |
| 503 | `store_unavailable`, `stopping`, with Retry-After: ask again, or another replica |

**Repeating a request is safe.** Submissions are known by their id, reports by (invocation, attempt), frames by their
number. What is not known again is a claim: one whose answer was lost comes back when its lease runs out.

**States.** `queued`, `running`, then `succeeded`, `failed`, `killed` or `timeout`, which never changes. In Python
`killed` is called cancelled, and `timeout` failed with `DeadlineExceeded`.
"""

if __name__ == "__main__":
    sys.stdout.write(_BEGINNING + reference(TABLE))
