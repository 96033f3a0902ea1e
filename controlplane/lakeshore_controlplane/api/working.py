"""Daemon routes: workers register, take work, bring ends, keep leases."""

from __future__ import annotations

from typing import Any

from lakeshore_controlplane.api.bodies.daemon import (
    Ack,
    AckItem,
    AckMany,
    Event,
    Goodbye,
    Hello,
    Poll,
    Release,
    Renew,
    ResultChunk,
)
from lakeshore_controlplane.api.bodies.frames import FrameItem, read_frames
from lakeshore_controlplane.api.connection import Connection
from lakeshore_controlplane.api.producing import LARGE_BODY
from lakeshore_controlplane.api.routing import Call, daemon_routes
from lakeshore_controlplane.names import check_queue
from lakeshore_controlplane.services.finishing import Report
from lakeshore_controlplane.services.polling import PollRequest

routes = daemon_routes()


@routes.add("POST", "/hello", body=Hello)
async def hello(call: Call) -> object:
    """Register a worker, or say that it lives."""
    body: Hello = call.body
    drain = await call.plane.workers.hello(call.namespace, **body.model_dump())
    return {"worker_id": body.worker_id, "now": call.plane.clock.steady(), "drain": drain}


@routes.add("POST", "/goodbye", body=Goodbye)
async def goodbye(call: Call) -> object:
    """Forget a worker that has ended."""
    body: Goodbye = call.body
    await call.plane.workers.goodbye(call.namespace, body.worker_id)
    return {"ok": True}


@routes.add("POST", "/poll", body=Poll, largest=LARGE_BODY)
async def poll(call: Call) -> object:
    """Bring ends, take work; waits for work up to ``timeout_s``."""
    body: Poll = call.body
    request = PollRequest(
        worker_id=body.worker_id,
        queues=body.queue_names(),
        timeout_s=min(body.timeout_s, call.plane.settings.longest_wait_s),
        most=body.max,
        lease_s=body.lease_s,
        kind=body.kind,
        temperature=body.temperature,
        reports=[await _report(call, item) for item in body.acks],
        claim_id=body.claim_id,
        again=body.again,
    )
    connection = Connection(call.request)
    try:
        found = await call.plane.polling.poll(call.namespace, request, connection)
    finally:
        connection.unwatch()
    return {"commands": found.commands, "fenced": found.fenced, "next_due_s": found.next_due_s}


@routes.add("POST", "/ack", body=Ack, largest=LARGE_BODY)
async def ack(call: Call) -> object:
    """Bring one end."""
    body: Ack = call.body
    state = await call.plane.finishing.report_one(call.namespace, body.worker_id, await _report(call, body))
    return {"ok": True, "state": state}


@routes.add("POST", "/ack-many", body=AckMany, largest=LARGE_BODY)
async def ack_many(call: Call) -> object:
    """Bring many ends."""
    body: AckMany = call.body
    reports = [await _report(call, item) for item in body.items]
    return {"fenced": await call.plane.finishing.report(call.namespace, body.worker_id, reports)}


async def _report(call: Call, item: AckItem) -> Report:
    result, result_ref = await call.plane.payloads.take_result(
        call.namespace, item.invocation_id, item.attempt, item.result_blob, item.result_ref
    )
    return Report(
        id=item.invocation_id,
        attempt=item.attempt,
        state=item.state,
        result=result,
        result_ref=result_ref,
        error=_error(item),
        retry=item.retry,
        delay_s=item.delay_s,
        crashed=item.crashed,
        report_id=item.report_id,
    )


def _error(item: AckItem) -> dict[str, Any] | None:
    if item.error is None:
        return None
    if isinstance(item.error, str):
        return {"type": "DaemonError", "message": item.error}
    return item.error.model_dump(exclude_none=True)


@routes.add("POST", "/renew", body=Renew)
async def renew(call: Call) -> object:
    """Extend leases."""
    body: Renew = call.body
    lost = await call.plane.leasing.renew(call.namespace, body.worker_id, body.ids, body.lease_s)
    drain = await call.plane.workers.shall_drain(call.namespace, body.worker_id)
    return {"lost": lost, "drain": drain}


@routes.add("POST", "/release", body=Release)
async def release(call: Call) -> object:
    """Hand back claims that were not started."""
    body: Release = call.body
    return {"released": await call.plane.leasing.release(call.namespace, body.worker_id, body.ids)}


@routes.add("POST", "/result-chunk", body=ResultChunk, largest=LARGE_BODY)
async def result_chunk(call: Call) -> object:
    """Append frames of a running invocation."""
    body: ResultChunk = call.body
    if body.frames is not None:
        frames = read_frames(body.frames, numbered=True)
        await call.plane.journals.append(call.namespace, body.invocation_id, frames, worker_id=body.worker_id)
        return {"ok": True}
    frame = FrameItem(*read_frames([[body.seq, body.bytes, body.final]], numbered=True)[0])
    known = await call.plane.journals.append_one(
        call.namespace, body.invocation_id, frame, worker_id=body.worker_id
    )
    return {"ok": True, "seq": body.seq, "duplicate": True} if known else {"ok": True, "seq": body.seq}


@routes.add("POST", "/event", body=Event)
async def event(call: Call) -> object:
    """Add a line to a queue's log."""
    body: Event = call.body
    await call.plane.event_log.add(
        call.namespace,
        kind=body.kind,
        queue=body.queue or "default",
        invocation=body.invocation_id,
        worker=body.worker_id,
        data=body.data,
    )
    return {"ok": True}


@routes.add("GET", "/queues/{queue}/next-due")
async def next_due(call: Call) -> object:
    """Say in how many seconds the queue wants a claim."""
    queue = call.checked(check_queue, call.path("queue"))
    return {"seconds": await call.plane.leasing.next_due(call.namespace, queue)}
