"""The OpenAPI page, made from the route table."""

from __future__ import annotations

import re
from typing import Any

from pydantic.json_schema import models_json_schema

from lakeshore_controlplane.api.routing import Endpoint

_REF = "#/components/schemas/{model}"
_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {name: {"type": "string"} for name in ("type", "message", "hint")},
        }
    },
}


def describe(endpoints: list[Endpoint], version: str) -> dict[str, Any]:
    """Give the OpenAPI 3.1 document."""
    models = list({endpoint.body for endpoint in endpoints if endpoint.body is not None})
    keys, definitions = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    schemas = definitions.get("$defs", {}) | {"Error": _ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        for path in endpoint.paths:
            plain = re.sub(r":path}", "}", path)
            body = None if endpoint.body is None else keys[(endpoint.body, "validation")]
            paths.setdefault(plain, {})[endpoint.method.lower()] = _operation(endpoint, plain, body)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Lakeshore control plane", "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, path: str, body: object) -> dict[str, Any]:
    name = endpoint.handler.__name__
    found: dict[str, Any] = {
        "summary": (endpoint.handler.__doc__ or name).partition("\n")[0],
        "operationId": re.sub(r"\W+", "_", f"{endpoint.method.lower()}{path}").strip("_"),
        "tags": [endpoint.tag],
        "parameters": [
            {"name": part, "in": "path", "required": True, "schema": {"type": "string"}}
            for part in re.findall(r"{(\w+)}", path)
        ],
        "responses": {
            "200": {"description": "Done"},
            "default": {
                "description": "Refused",
                "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}},
            },
        },
    }
    if endpoint.scopes:
        found["security"] = [{"token": []}]
        found["description"] = f"Scopes: {', '.join(sorted({*endpoint.scopes, 'admin'}))}."
    if body is not None:
        found["requestBody"] = {
            "required": True,
            "content": {media: {"schema": body} for media in ("application/msgpack", "application/json")},
        }
    return found
