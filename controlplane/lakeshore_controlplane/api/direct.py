"""The short way to routes without variable parts: past the framework's layers, straight to the endpoint.

Polls, ends, submissions and waits are thousands of requests a second; matching routes one after another and the
layers around them cost as much as everything else that such a request does here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

Answer = Callable[[Request], Awaitable[Response]]


class DirectApp(FastAPI):
    """A FastAPI application whose fixed paths are looked up in a table. Answers are the same either way."""

    def shorten(self, routes: Iterable[Route]) -> None:
        """Enter the routes whose paths are fixed; ``route.endpoint`` is called with the request."""
        self._direct: dict[tuple[str, str], Answer] = {
            (method, route.path): route.endpoint
            for route in routes
            if "{" not in route.path
            for method in sorted(route.methods or ())
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or take part in the application's beginning and end."""
        if scope["type"] == "http" and not scope.get("root_path"):
            answer = self._direct.get((scope["method"], scope["path"]))
            if answer is not None:
                scope["app"] = self
                scope["path_params"] = {}
                response = await answer(Request(scope, receive, send))
                await response(scope, receive, send)
                return
        await super().__call__(scope, receive, send)
