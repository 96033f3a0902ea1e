"""The first page, the login, the way out, and static files."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from lakeshore_controlplane.api.routing import Call, Routes
from lakeshore_controlplane.api.ui import paths, sessions
from lakeshore_controlplane.api.ui.markup import Markup, html
from lakeshore_controlplane.api.ui.shell import Shell, hidden_key, whole_page
from lakeshore_controlplane.api.ui.static_files import static_file
from lakeshore_controlplane.api.ui.visits import LOOKERS, Visit, guarded, page, secret_for
from lakeshore_controlplane.faults import Forbidden, NotFound, Refusal, Unauthorized
from lakeshore_controlplane.names import check_namespace

routes = Routes(("/ui",), (), "text/html", "ui")
elsewhere = Routes(("/ui",), (), "text/html", "ui")
"""Comes last: what no other route takes."""


@routes.add("GET", "")
@routes.add("GET", "/")
@page(*LOOKERS)
async def home(visit: Visit) -> Response:
    """Lead to the queues of the namespace that was chosen, or of the token's own."""
    chosen = visit.call.text("ns")
    namespace = visit.namespace
    if chosen is not None:
        namespace = visit.caller.namespace_for(visit.call.checked(check_namespace, chosen))
    return RedirectResponse(paths.queues(namespace), 303)


@routes.add("GET", "/login")
async def login(call: Call) -> Response:
    """Ask for a token."""
    return await guarded(call, lambda: _ask(call))


@routes.add("POST", "/login")
async def enter(call: Call) -> Response:
    """Take a token and keep it in the browser's cookie."""
    return await guarded(call, lambda: _take(call))


@routes.add("POST", "/logout")
async def leave(call: Call) -> Response:
    """Take the token from the browser."""
    return await guarded(call, lambda: _forget(call))


@routes.add("GET", "/static/{name}")
async def static(call: Call) -> Response:
    """Give a static file."""

    async def give() -> Response:
        return static_file(call.path("name"), call.text("v"))

    return await guarded(call, give)


async def _nothing(call: Call) -> Response:
    raise NotFound("there is no such page")


@elsewhere.add("GET", "/{rest:path}")
async def nowhere(call: Call) -> Response:
    """Say that there is no such page."""
    return await guarded(call, lambda: _nothing(call))


async def _ask(call: Call) -> Response:
    after = paths.inside(call.text("next"))
    if call.plane.settings.auth == "off":
        return RedirectResponse(after, 303)
    return _login_page(call, after)


async def _take(call: Call) -> Response:
    form = await sessions.read_form(call.request)
    after, token = paths.inside(form.get("next")), form.get("token", "").strip()
    try:
        caller = await call.plane.identity.caller(f"Bearer {token}" if token else None)
        if not any(caller.allow(scope) for scope in LOOKERS):
            raise Forbidden("this token only lets workers work: use one with the scope producer or operator")
    except (Unauthorized, Forbidden) as refusal:
        return _login_page(call, after, refusal if token else Unauthorized("enter a token"))
    response = RedirectResponse(after, 303)
    if call.plane.settings.auth != "off":
        sessions.keep_token(call.request, response, token)
    return response


async def _forget(call: Call) -> Response:
    await sessions.read_form(call.request)
    response = RedirectResponse(paths.LOGIN, 303)
    sessions.forget_token(call.request, response)
    return response


def _login_page(call: Call, after: str, refusal: Refusal | None = None) -> Response:
    secret, fresh = secret_for(call.request)
    shell = Shell(form_key=sessions.form_key(secret))
    content = _login_form(shell, after, None if refusal is None else refusal.message)
    status = 200 if refusal is None else refusal.status
    response = Response(whole_page("Log in", content, shell).encode(), status, media_type="text/html")
    if fresh:
        sessions.keep_visit(call.request, response, secret)
    return response


def _login_form(shell: Shell, after: str, problem: str | None) -> Markup:
    said = html('<p class="problem" role="alert" id="problem">{problem}</p>', problem=problem)
    return html(
        '<div class="card login"><h1>Log in</h1>{said}<form action="{login}" method="post">{key}'
        '<input type="hidden" name="next" value="{after}"><label for="token">Access token</label>'
        '<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required '
        'autofocus aria-describedby="hint{described}"><p id="hint" class="muted">It begins with dlk_ and stays in '
        "this browser for at most 12 hours.</p><button>Log in</button></form></div>",
        said=said if problem else None,
        login=paths.LOGIN,
        key=hidden_key(shell),
        after=after,
        described=" problem" if problem else "",
    )
