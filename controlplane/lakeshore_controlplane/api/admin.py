"""Admin routes: workers, tokens, namespaces, the event log."""

from __future__ import annotations

from lakeshore_controlplane.api.bodies.admin import NewNamespace, NewToken
from lakeshore_controlplane.api.routing import Call, Routes, admin_routes, producer_routes
from lakeshore_controlplane.faults import NotFound
from lakeshore_controlplane.names import check_namespace, check_queue, check_worker
from lakeshore_controlplane.services.caller import EVERYWHERE

producing = producer_routes()
routes = admin_routes()
everywhere = Routes(("/v1/namespaces",), ("admin",), routes.prefer, "admin")


@producing.add("GET", "/workers", scopes=("producer", "operator"))
@routes.add("GET", "/workers", scopes=("admin", "operator"))
async def workers(call: Call) -> object:
    """List workers with what they hold."""
    queue = call.text("queue")
    if queue is not None:
        queue = call.checked(check_queue, queue)
    return {"workers": await call.plane.workers.list(call.namespace, queue=queue)}


def _worker(call: Call) -> str:
    return call.checked(check_worker, call.path("worker"))


@routes.add("POST", "/workers/{worker}/cordon", scopes=("admin", "operator"))
async def cordon(call: Call) -> object:
    """Give a worker no more claims."""
    await call.plane.workers.cordon(call.namespace, _worker(call), cordoned=True)
    return {"ok": True}


@routes.add("POST", "/workers/{worker}/uncordon", scopes=("admin", "operator"))
async def uncordon(call: Call) -> object:
    """Give a worker claims again."""
    await call.plane.workers.cordon(call.namespace, _worker(call), cordoned=False)
    return {"ok": True}


@routes.add("POST", "/workers/{worker}/drain", scopes=("admin", "operator"))
async def drain(call: Call) -> object:
    """Tell a worker to end what runs, start nothing and go."""
    await call.plane.workers.drain(call.namespace, _worker(call))
    return {"ok": True}


@routes.add("GET", "/tokens")
async def tokens(call: Call) -> object:
    """List tokens, without their plaintexts."""
    found = await call.plane.identity.tokens(call.namespace, everywhere=_sees_all(call))
    return {"tokens": found}


def _sees_all(call: Call) -> bool:
    """Whether tokens of all namespaces, as the caller's own is one, are the caller's business."""
    return call.caller is not None and call.caller.namespace == EVERYWHERE


@routes.add("POST", "/tokens", body=NewToken)
async def add_token(call: Call) -> object:
    """Make a token; its plaintext is shown this once."""
    body: NewToken = call.body
    return await call.plane.identity.add_token(
        call.namespace, name=body.name, scopes=body.scopes, expires_in_s=body.expires_in_s
    )


@routes.add("DELETE", "/tokens/{token}")
async def revoke_token(call: Call) -> object:
    """Revoke a token."""
    token_id = call.path("token")
    if token_id.startswith("dlk_"):  # a secret in a path is not to be repeated
        raise NotFound("there is no token with that id", hint="give the token's id, not the token itself")
    await call.plane.identity.revoke(call.namespace, token_id, everywhere=_sees_all(call))
    return {"ok": True}


@routes.add("GET", "/events", scopes=("admin", "operator"))
async def events(call: Call) -> object:
    """List the newest lines of the event log."""
    found = await call.plane.event_log.list(
        call.namespace, queue=call.text("queue"), limit=call.integer("limit", 50, least=1, most=1000)
    )
    return {"events": found}


@everywhere.add("GET", "")
async def namespaces(call: Call) -> object:
    """List the namespaces that the caller may see."""
    assert call.caller is not None
    return {"namespaces": await call.plane.namespaces.list(call.caller)}


@everywhere.add("POST", "", body=NewNamespace)
async def add_namespace(call: Call) -> object:
    """Make a namespace."""
    assert call.caller is not None
    body: NewNamespace = call.body
    return {
        "namespace": await call.plane.namespaces.add(call.caller, call.checked(check_namespace, body.name))
    }


@everywhere.add("DELETE", "/{ns}")
async def delete_namespace(call: Call) -> object:
    """Delete an empty namespace."""
    assert call.caller is not None
    await call.plane.namespaces.delete(call.caller, call.path("ns"))
    return {"ok": True}
