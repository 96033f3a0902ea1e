"""The route table, and what every route does around its handler: authorise, decode, validate, encode, count.

Handlers are plain coroutines: ``async def submit(call: Call) -> object``. What they return is encoded; a
``Response`` goes out as it is; a ``Refusal`` that they raise becomes ``{error: {type, message, hint}}``.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lakeshore_controlplane.api.decoding import JSON, MSGPACK, decode, read_body
from lakeshore_controlplane.api.encoding import encode, encode_refusal
from lakeshore_controlplane.api.visitors import check_visitor
from lakeshore_controlplane.documents import Scope
from lakeshore_controlplane.faults import BadRequest, Refusal
from lakeshore_controlplane.services.control_plane import ControlPlane
from lakeshore_controlplane.services.identity import Caller

log = logging.getLogger("lakeshore.api")
_KIB = 1 << 10
SMALL_BODY = 1024 * _KIB


class Call:
    """One request as its handler sees it. ``body`` is the validated model (None for routes without one)."""

    __slots__ = ("body", "caller", "namespace", "plane", "request")

    def __init__(
        self, plane: ControlPlane, caller: Caller | None, namespace: str, body: Any, request: Request
    ) -> None:
        self.plane = plane
        self.caller = caller
        self.namespace = namespace
        self.body = body
        self.request = request

    def path(self, name: str) -> str:
        """Give a part of the path."""
        return str(self.request.path_params[name])

    @staticmethod
    def checked(check: Callable[[str], str], value: str) -> str:
        """Give a checked name back. Raises ``BadRequest``."""
        try:
            return check(value)
        except ValueError as exc:
            raise BadRequest(str(exc)) from None

    def text(self, name: str, default: str | None = None) -> str | None:
        """Give a query parameter."""
        return self.request.query_params.get(name, default)

    def number(self, name: str, default: float, *, least: float = 0.0, most: float = 1e15) -> float:
        """Give a query parameter as a number. Raises ``BadRequest``."""
        given = self.request.query_params.get(name)
        if given is None:
            return default
        try:
            found = float(given)
        except ValueError:
            found = float("nan")
        if not least <= found <= most:
            raise BadRequest(f"{name}={given[:40]!r}: use a number from {least:g} to {most:g}")
        return found

    def integer(self, name: str, default: int, *, least: int = 0, most: int = 1 << 62) -> int:
        """Give a query parameter as an integer. Raises ``BadRequest``."""
        given = self.request.query_params.get(name)
        if given is None:
            return default
        try:
            found = int(given) if len(given) <= 32 else least - 1
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            raise BadRequest(f"{name}={given[:40]!r}: use an integer from {least} to {most}")
        return found


Handler: TypeAlias = Callable[[Call], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row of the route table. ``paths``: every form. ``scopes``: any of them lets in; empty: open to all."""

    method: str
    paths: tuple[str, ...]
    scopes: tuple[Scope, ...]
    handler: Handler
    body: type[BaseModel] | None
    largest: int
    prefer: str
    tag: str


@dataclass(slots=True)
class Routes:
    """A part of the table: routes that share prefixes, scopes and the encoding they answer in."""

    prefixes: tuple[str, ...]
    scopes: tuple[Scope, ...]
    prefer: str
    tag: str
    endpoints: list[Endpoint] = field(default_factory=list)

    def add(
        self,
        method: str,
        path: str,
        *,
        body: type[BaseModel] | None = None,
        scopes: tuple[Scope, ...] | None = None,
        largest: int = SMALL_BODY,
    ) -> Callable[[Handler], Handler]:
        """Enter a handler; ``largest``: bytes of body that are read at most."""

        def enter(handler: Handler) -> Handler:
            paths = tuple(prefix + path for prefix in self.prefixes)
            chosen = self.scopes if scopes is None else scopes
            self.endpoints.append(
                Endpoint(method, paths, chosen, handler, body, largest, self.prefer, self.tag)
            )
            return handler

        return enter


def producer_routes() -> Routes:
    """A part under ``/v1/producer``."""
    return Routes(("/v1/producer", "/v1/namespaces/{ns}/producer"), ("producer",), MSGPACK, "producer")


def daemon_routes() -> Routes:
    """A part under ``/v1/daemon``."""
    return Routes(("/v1/daemon", "/v1/namespaces/{ns}/daemon"), ("worker",), MSGPACK, "daemon")


def admin_routes() -> Routes:
    """A part under ``/v1`` for administrators."""
    return Routes(("/v1", "/v1/namespaces/{ns}"), ("admin",), JSON, "admin")


def starlette_routes(plane: ControlPlane, endpoints: list[Endpoint]) -> list[Route]:
    """Make the table's routes."""
    return [
        Route(path, _Serving(plane, endpoint, path).answer, methods=[endpoint.method])
        for endpoint in endpoints
        for path in endpoint.paths
    ]


class _Serving:
    """One endpoint at one path."""

    __slots__ = ("_endpoint", "_path", "_plane")

    def __init__(self, plane: ControlPlane, endpoint: Endpoint, path: str) -> None:
        self._plane = plane
        self._endpoint = endpoint
        self._path = path

    async def answer(self, request: Request) -> Response:
        began = time.perf_counter()
        metrics = self._plane.metrics
        metrics.open_waits.inc()
        status = 500
        try:
            response = await self._try(request)
            status = response.status_code
            return response
        finally:
            metrics.open_waits.dec()
            metrics.requests.labels(self._path, str(status)).observe(time.perf_counter() - began)

    async def _try(self, request: Request) -> Response:
        prefer = self._endpoint.prefer
        try:
            found = await self._endpoint.handler(await self._call(request))
            return found if isinstance(found, Response) else encode(request, found, prefer=prefer)
        except Refusal as refusal:
            return encode_refusal(request, refusal, prefer)
        except Exception as exc:
            log.error(
                "a request failed with %s\n%s",
                type(exc).__name__,
                frames_of(exc),
                extra={"route": self._path},
            )
            return encode_refusal(
                request, Refusal("the control plane made a mistake; its log has it"), prefer
            )

    async def _call(self, request: Request) -> Call:
        endpoint = self._endpoint
        caller: Caller | None = None
        namespace = "default"
        if self._plane.settings.auth == "off":
            check_visitor(request)
        if endpoint.scopes:
            caller = await self._plane.identity.caller(request.headers.get("authorization"))
            namespace = caller.namespace_for(request.path_params.get("ns"))
            caller.require(*endpoint.scopes)
            await self._plane.namespaces.require(namespace)
        body = None
        if endpoint.body is not None:
            raw = await read_body(request, endpoint.largest)
            default = JSON if endpoint.prefer == JSON else MSGPACK
            body = validate(endpoint.body, decode(raw, request.headers.get("content-type", default)))
        return Call(self._plane, caller, namespace, body, request)


def frames_of(failure: BaseException) -> str:
    """Give the lines that led to a failure and not its text: drivers put whole documents into theirs."""
    return "".join(traceback.format_tb(failure.__traceback__)).rstrip()


def validate(model: type[BaseModel], value: object) -> BaseModel:
    """Read a body. Raises ``BadRequest`` that names the first wrong field, and none of its content."""
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(_short(str(part)) for part in first["loc"]) or "the body"
        raise BadRequest(f"{where}: {_short(first['msg'].removeprefix('Value error, '), 400)}") from None


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
