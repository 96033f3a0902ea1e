"""Routes for queues: declared, changed, paused, drained, archived; their signals."""

from __future__ import annotations

from typing import Any

from lakeshore_controlplane.api.bodies.admin import NewElasticityEvent, NewQueue, QueueChanges
from lakeshore_controlplane.api.bodies.producer import QueueDeclaration, QueueStateChange
from lakeshore_controlplane.api.routing import Call, Handler, admin_routes, producer_routes
from lakeshore_controlplane.faults import NotFound
from lakeshore_controlplane.names import check_queue

producing = producer_routes()
routes = admin_routes()
VERBS = {
    "drain": "draining",
    "archive": "archived",
    "unarchive": "active",
    "pause": "paused",
    "resume": "active",
}
"""The lifecycle's verbs and the states that they lead to."""


def _name(call: Call) -> str:
    return call.checked(check_queue, call.path("queue"))


@producing.add("GET", "/queues", scopes=("producer", "worker", "operator"))
@routes.add("GET", "/queues", scopes=("admin", "operator"))
async def queues(call: Call) -> object:
    """List queues: declared ones, and those that have rows."""
    return {"queues": await call.plane.queues.list(call.namespace)}


@producing.add("GET", "/queues/{queue}", scopes=("producer", "worker", "operator"))
@routes.add("GET", "/queues/{queue}", scopes=("admin", "operator"))
async def queue(call: Call) -> object:
    """Give one queue."""
    name = _name(call)
    found = await call.plane.queues.get(call.namespace, name)
    if found is None:
        raise NotFound(f"no queue {name!r}", hint=f"`lakeshore queues add {name}` makes it")
    return {"queue": found}


@producing.add("PUT", "/queues/{queue}", body=QueueDeclaration, scopes=("producer", "operator"))
async def declare(call: Call) -> object:
    """Declare a queue, or change it; its lifecycle state stays."""
    changes: dict[str, Any] = call.body.model_dump(exclude_unset=True)
    return {"queue": await call.plane.queues.declare(call.namespace, _name(call), changes)}


@routes.add("POST", "/queues", body=NewQueue, scopes=("admin", "operator"))
async def add(call: Call) -> object:
    """Make a queue."""
    fields: dict[str, Any] = call.body.model_dump(exclude_unset=True)
    name = fields.pop("name")
    return {"queue": await call.plane.queues.declare(call.namespace, name, fields)}


@routes.add("PATCH", "/queues/{queue}", body=QueueChanges, scopes=("admin", "operator"))
async def change(call: Call) -> object:
    """Change what is given of a queue."""
    changes = call.body.model_dump(exclude_unset=True, exclude_none=True)
    return {"queue": await call.plane.queues.change(call.namespace, _name(call), changes)}


@routes.add("DELETE", "/queues/{queue}")
async def delete(call: Call) -> object:
    """Delete a queue that has no rows."""
    await call.plane.queues.delete(call.namespace, _name(call))
    return {"ok": True}


@producing.add("POST", "/queues/{queue}/state", body=QueueStateChange, scopes=("producer", "operator"))
async def set_state(call: Call) -> object:
    """Move a queue through its lifecycle."""
    return {"queue": await call.plane.queues.set_state(call.namespace, _name(call), call.body.state)}


def _verb(state: str) -> Handler:
    async def move(call: Call) -> object:
        return {"queue": await call.plane.queues.set_state(call.namespace, _name(call), state)}

    move.__doc__ = f"Make a queue {state}."
    return move


for _word, _state in VERBS.items():
    routes.add("POST", f"/queues/{{queue}}/{_word}", scopes=("admin", "operator"))(_verb(_state))


@producing.add("GET", "/queues/{queue}/signals", scopes=("producer", "worker", "operator"))
async def signals(call: Call) -> object:
    """Give what the elasticity controller needs; waits until the revision is another than ``since``."""
    wait_s = min(call.number("wait_s", 0.0), call.plane.settings.longest_wait_s)
    since = call.integer("since", -1, least=-1)
    return await call.plane.signals.read(
        call.namespace, _name(call), since=None if since < 0 else since, wait_s=wait_s
    )


@routes.add("GET", "/queues/{queue}/elasticity-events", scopes=("admin", "operator", "producer"))
async def elasticity_events(call: Call) -> object:
    """List decisions, newest first; ``verbose`` shows those that changed nothing."""
    found = await call.plane.elasticity_events.list(
        call.namespace,
        _name(call),
        limit=call.integer("limit", 50, least=1, most=1000),
        verbose=call.text("verbose") in {"1", "true"},
    )
    return {"events": found}


@routes.add(
    "POST", "/queues/{queue}/elasticity-events", body=NewElasticityEvent, scopes=("operator", "admin")
)
async def add_elasticity_event(call: Call) -> object:
    """Write down a decision."""
    await call.plane.elasticity_events.add(call.namespace, _name(call), **call.body.model_dump())
    return {"ok": True}
