"""Producer routes that wait: for ends, for wake-ups."""

from __future__ import annotations

from lakeshore_controlplane.api.bodies.producer import Await, AwaitMany, Wait
from lakeshore_controlplane.api.routing import Call, producer_routes
from lakeshore_controlplane.faults import NotFound, PayloadTooLarge
from lakeshore_controlplane.services.payload_refs import parse_ref
from lakeshore_controlplane.services.topics import Outcome

routes = producer_routes()


@routes.add("POST", "/await", body=Await)
async def await_one(call: Call) -> object:
    """Wait for one end."""
    body: Await = call.body
    found = await call.plane.awaiting.outcome(
        call.namespace, body.invocation_id, timeout_s=_limit(call, body.timeout_s)
    )
    if isinstance(found, Outcome):
        return await _outcome(call, found, as_ref=body.accept_result_ref)
    return {"state": "pending", "status": found}


@routes.add("POST", "/await-many", body=AwaitMany)
async def await_many(call: Call) -> object:
    """Wait for the ends of many."""
    body: AwaitMany = call.body
    timeout_s = _limit(call, body.timeout_s)
    if body.watch is None:
        ended = await call.plane.awaiting.outcomes(call.namespace, body.ids, timeout_s=timeout_s)
        return {"ended": await _outcomes(call, ended, as_ref=body.accept_result_ref)}
    told = await call.plane.watches.wait(
        call.namespace, body.watch, body.ids, ack=body.ack, timeout_s=timeout_s
    )
    return {
        "ended": [await _outcome(call, item, as_ref=body.accept_result_ref) for item in told.ended],
        "watch": "known" if told.known else "new",
        "number": told.number,
        "more": told.more,
    }


@routes.add("POST", "/wait", body=Wait, scopes=("producer", "worker"))
async def wait(call: Call) -> object:
    """Wait until a topic moves."""
    body: Wait = call.body
    cursors, woken = await call.plane.wakeups.wait(
        call.namespace, body.topics, timeout_s=_limit(call, body.timeout_s)
    )
    return {"cursors": cursors, "woken": woken}


def _limit(call: Call, timeout_s: float) -> float:
    return min(timeout_s, call.plane.settings.longest_wait_s)


async def _outcomes(call: Call, found: list[Outcome], *, as_ref: bool) -> list[dict[str, object]]:
    """Give outcomes until an answer is as large as one may be; the rest is there when it is asked for again."""
    answers: list[dict[str, object]] = []
    size = 0
    for item in found:
        answers.append(await _outcome(call, item, as_ref=as_ref))
        blob = answers[-1]["result_blob"]
        size += len(blob) if isinstance(blob, bytes) else 0
        if size >= call.plane.settings.payload_limit:
            break
    return answers


async def _outcome(call: Call, found: Outcome, *, as_ref: bool) -> dict[str, object]:
    answer: dict[str, object] = {
        "invocation_id": found.id,
        "state": found.state,
        "result_blob": found.result,
        "error": found.error,
        "attempt": found.attempt,
    }
    if found.result_ref is None:
        return answer
    by_ref = {"result_ref": {"ref": found.result_ref, "size": parse_ref(found.result_ref).size}}
    if as_ref:
        return answer | by_ref
    try:
        return answer | {"result_blob": await call.plane.payloads.fetch(call.namespace, found.result_ref)}
    except (NotFound, PayloadTooLarge):  # one that cannot be had must not hold up the others
        return answer | by_ref
