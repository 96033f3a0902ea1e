"""What every page does around its handler: who looks, in which namespace, and how refusals are shown."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from lakeshore_controlplane.api.routing import Call, Handler, frames_of
from lakeshore_controlplane.api.ui import paths, sessions
from lakeshore_controlplane.api.ui.markup import Markup
from lakeshore_controlplane.api.ui.shell import Shell, one_line, whole_page
from lakeshore_controlplane.documents import Scope
from lakeshore_controlplane.faults import Refusal, Unauthorized
from lakeshore_controlplane.names import check_namespace
from lakeshore_controlplane.services.caller import EVERYWHERE, Caller

log = logging.getLogger("lakeshore.ui")

LOOKERS: tuple[Scope, ...] = ("producer", "operator", "admin")
"""Who may look at queues, workers and decisions; jobs and what they gave are for producers, as in the API."""
_MOST_CHOICES = 500
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Visit:
    """One request of somebody who is known. ``form`` holds what a POST sent."""

    __slots__ = ("call", "caller", "form", "namespace", "shell")

    def __init__(
        self, call: Call, caller: Caller, namespace: str, shell: Shell, form: dict[str, str]
    ) -> None:
        self.call = call
        self.caller = caller
        self.namespace = namespace
        self.shell = shell
        self.form = form

    @property
    def now(self) -> float:
        """Plane time."""
        return self.call.plane.clock.steady()

    def page(self, title: str, content: Markup, *, live: bool = False) -> Response:
        """Answer with a page."""
        return _page(whole_page(title, content, self.shell, live=live))


Page: TypeAlias = Callable[[Visit], Awaitable[Response]]


def page(*scopes: Scope) -> Callable[[Page], Handler]:
    """Make a handler of the route table that lets in those with any of ``scopes``."""

    def enter(handler: Page) -> Handler:
        @wraps(handler)
        async def answer(call: Call) -> Response:
            return await guarded(call, lambda: _visit(call, scopes, handler))

        return answer

    return enter


async def guarded(call: Call, work: Callable[[], Awaitable[Response]]) -> Response:
    """Answer with what ``work`` gives, or with a page that says in one line why not; always with our headers."""
    request = call.request
    try:
        response = await work()
    except Unauthorized:
        response = _to_login(request)
    except Refusal as refusal:
        response = _refused(refusal)
    except Exception as exc:
        where = {"route": request.scope.get("path", "")[:200]}
        log.error("a page failed with %s\n%s", type(exc).__name__, frames_of(exc), extra=where)
        response = _refused(Refusal("the control plane made a mistake; its log has it"))
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def secret_for(request: Request) -> tuple[str, bool]:
    """Give what this browser's forms are signed with, and whether it is new."""
    known = sessions.secret_of(request)
    return (known, False) if known is not None else (sessions.new_secret(), True)


async def _visit(call: Call, scopes: tuple[Scope, ...], handler: Page) -> Response:
    request, plane = call.request, call.plane
    caller = await plane.identity.caller(sessions.authorization_of(request))
    caller.require(*scopes)
    wanted = request.path_params.get("ns")
    namespace = caller.namespace_for(None if wanted is None else call.checked(check_namespace, wanted))
    await plane.namespaces.require(namespace)
    form = await sessions.read_form(request) if request.method == "POST" else {}
    secret, fresh = secret_for(request)
    shell = Shell(
        namespace=namespace,
        choices=await _choices(call, caller, namespace),
        form_key=sessions.form_key(secret),
        leaves=plane.settings.auth != "off",
    )
    response = await handler(Visit(call, caller, namespace, shell, form))
    if fresh:
        sessions.keep_visit(request, response, secret)
    return response


async def _choices(call: Call, caller: Caller, namespace: str) -> list[str]:
    if caller.namespace != EVERYWHERE or call.request.method != "GET":
        return [namespace]
    found = [str(known["name"]) for known in await call.plane.namespaces.list(caller)]
    return found if len(found) <= _MOST_CHOICES else [*found[:_MOST_CHOICES], namespace]


def _to_login(request: Request) -> Response:
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    after = paths.inside(wanted) if request.method == "GET" else ""
    response = RedirectResponse(paths.login(after), 303)
    if sessions.token_of(request) is not None:
        sessions.forget_token(request, response)
    return response


def _refused(refusal: Refusal) -> Response:
    response = _page(whole_page("Error", one_line(refusal.message, refusal.hint), Shell()), refusal.status)
    if refusal.retry_after_s is not None:
        response.headers["retry-after"] = str(max(1, round(refusal.retry_after_s)))
    return response


def _page(text: Markup, status: int = 200) -> Response:
    return Response(text.encode(), status, media_type="text/html")
