"""Producer routes: submit, cancel, look up."""

from __future__ import annotations

from typing import Any

from lakeshore_controlplane.api.bodies.producer import Cancel, Count, Get, Purge, Submit, SubmitMany
from lakeshore_controlplane.api.routing import Call, producer_routes
from lakeshore_controlplane.faults import NotFound, Refusal
from lakeshore_controlplane.services.submitting import Submission, Submitted

routes = producer_routes()
_MIB = 1 << 20
LARGE_BODY = 72 * _MIB
"""Bytes of a body that may carry payloads: the largest payload through the server, and what surrounds it."""


@routes.add("POST", "/submit", body=Submit, largest=LARGE_BODY)
async def submit(call: Call) -> object:
    """Store one invocation."""
    item: Submit = call.body
    submission = await _submission(call, item)
    (found,) = await call.plane.submitting.submit_many(
        call.namespace, [submission], atomic=True, wait_s=_wait(call, item.wait_s)
    )
    if isinstance(found, Refusal):
        raise found
    return _submitted(found)


@routes.add("POST", "/submit-many", body=SubmitMany, largest=LARGE_BODY)
async def submit_many(call: Call) -> object:
    """Store a batch."""
    body: SubmitMany = call.body
    submissions = [await _submission(call, item) for item in body.items]
    found = await call.plane.submitting.submit_many(
        call.namespace, submissions, atomic=body.atomic, wait_s=_wait(call, body.wait_s)
    )
    return {"results": [_submitted(item) for item in found]}


def _wait(call: Call, wait_s: float) -> float:
    return min(wait_s, call.plane.settings.longest_wait_s)


async def _submission(call: Call, item: Submit) -> Submission:
    run_config = item.run_config.to_row()
    args, args_ref = await call.plane.payloads.take_args(
        call.namespace, item.invocation_id, item.args_blob, item.args_ref
    )
    return Submission(
        id=item.invocation_id,
        queue=item.queue or item.run_config.queue or "default",
        args=args,
        args_ref=args_ref,
        run_config=run_config,
        code_context=item.code_context,
        function=item.function,
        parent=item.parent_invocation_id,
        correlation_id=item.correlation_id,
        code_repo_id=code_repo_of(item.code_context),
        written_at=item.written_at,
    )


def code_repo_of(code_context: dict[str, Any] | None) -> str | None:
    """Give the code repository that a submission names, if any."""
    found = (code_context or {}).get("code_repo_id")
    return found if isinstance(found, str) else None


def _submitted(found: Submitted | Refusal) -> dict[str, object]:
    if isinstance(found, Refusal):
        return {"error": found.to_dict()}
    answer: dict[str, object] = {"invocation_id": found.id, "queue": found.queue}
    if found.duplicate:
        answer["duplicate"] = True
    return answer


@routes.add("POST", "/cancel", body=Cancel)
async def cancel(call: Call) -> object:
    """End queued or running invocations."""
    body: Cancel = call.body
    if body.ids is not None:
        return {"cancelled": await call.plane.cancelling.cancel(call.namespace, body.ids)}
    ended = await call.plane.cancelling.cancel(call.namespace, [str(body.invocation_id)])
    return {"cancelled": bool(ended)}


@routes.add("POST", "/count", body=Count)
async def count(call: Call) -> object:
    """Count the rows of a queue in one state."""
    body: Count = call.body
    return {"count": await call.plane.lookups.count(call.namespace, body.queue, body.state)}


@routes.add("POST", "/get", body=Get, scopes=("producer", "worker"))
async def get(call: Call) -> object:
    """Give one row."""
    body: Get = call.body
    found = await call.plane.lookups.get(call.namespace, body.invocation_id)
    if found is None:
        await call.plane.retention.raise_if_expired(call.namespace, body.invocation_id)
        raise NotFound(f"no invocation {body.invocation_id} on this plane")
    return {"invocation": found}


@routes.add("GET", "/invocations")
async def invocations(call: Call) -> object:
    """List rows, newest first."""
    found = await call.plane.lookups.list(
        call.namespace,
        queue=call.text("queue"),
        state=call.text("state"),
        root=call.text("root"),
        limit=call.integer("limit", 50, least=1, most=1000),
    )
    return {"invocations": found}


@routes.add("POST", "/purge", body=Purge)
async def purge(call: Call) -> object:
    """Forget what ended long ago."""
    body: Purge = call.body
    return {"purged": await call.plane.retention.purge(call.namespace, body.older_than_s)}


@routes.add("GET", "/clock", scopes=("producer", "worker", "operator"))
async def clock(call: Call) -> object:
    """Tell plane time."""
    return {"now": call.plane.clock.steady()}
