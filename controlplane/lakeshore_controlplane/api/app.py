"""The application of one replica: the route table on FastAPI."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from lakeshore_controlplane.api import admin, health, journals, producing, queues, transfers, waiting, working
from lakeshore_controlplane.api.decoding import JSON, MSGPACK
from lakeshore_controlplane.api.direct import DirectApp
from lakeshore_controlplane.api.encoding import encode_refusal
from lakeshore_controlplane.api.openapi import describe
from lakeshore_controlplane.api.routing import Endpoint, starlette_routes
from lakeshore_controlplane.api.ui.routes import ENDPOINTS as PAGES
from lakeshore_controlplane.faults import Refusal
from lakeshore_controlplane.services.control_plane import ControlPlane

TABLE: list[Endpoint] = [
    endpoint
    for part in (
        producing.routes,
        waiting.routes,
        journals.routes,
        queues.producing,
        transfers.producing,
        admin.producing,
        working.routes,
        transfers.working,
        queues.routes,
        admin.everywhere,
        admin.routes,
        health.routes,
    )
    for endpoint in part.endpoints
]
"""Every route. Documentation and tests of access are made from it."""
VERSION = "1"


def make_app(plane: ControlPlane) -> FastAPI:
    """Make the application of a plane that is started and closed elsewhere."""
    app = DirectApp(
        title="Lakeshore control plane",
        version=VERSION,
        openapi_url="/openapi.json",
        redirect_slashes=False,  # such a redirect would go to whatever host the request names
    )
    routes = starlette_routes(plane, [*TABLE, *PAGES])
    app.router.routes.extend(routes)
    app.shorten(routes)
    app.openapi = _described  # type: ignore[method-assign]
    app.add_exception_handler(HTTPException, _unknown_route)
    return app


def _described() -> dict[str, Any]:
    return describe(TABLE, VERSION)


class _NoRoute(Refusal):
    type, status = "not_found", 404


class _WrongMethod(Refusal):
    type, status = "method_not_allowed", 405


async def _unknown_route(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 404
    made = _WrongMethod if status == 405 else _NoRoute
    path = request.url.path
    prefer = MSGPACK if "/producer" in path or "/daemon" in path else JSON
    text = f"{request.method} {path[:200]} is not a route of this control plane"
    response = encode_refusal(request, made(text, hint="see /docs"), prefer)
    if status == 405:
        response.headers["allow"] = ", ".join(sorted(_methods_at(request)))
    return response


def _methods_at(request: Request) -> set[str]:
    """Give the methods that there are for a path; each is a route of its own."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    there = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return {method for route in there for method in route.methods or ()}
