"""Producer routes for journals: read, stream, append, trim."""

from __future__ import annotations

from starlette.responses import Response, StreamingResponse

from lakeshore_controlplane.api.bodies.frames import read_frames
from lakeshore_controlplane.api.bodies.producer import JournalAppend, JournalRead, JournalTrim
from lakeshore_controlplane.api.producing import LARGE_BODY
from lakeshore_controlplane.api.routing import Call, producer_routes
from lakeshore_controlplane.names import check_invocation

routes = producer_routes()
STREAM_MEDIA = "application/x-msgpack-stream"


@routes.add("POST", "/journal/read", body=JournalRead)
async def read(call: Call) -> object:
    """Read on in a journal, waiting for its next entry."""
    body: JournalRead = call.body
    found = await call.plane.reading.read(
        call.namespace,
        body.journal,
        since=body.since,
        timeout_s=min(body.timeout_s, call.plane.settings.longest_wait_s),
        max_bytes=body.max_bytes,
    )
    return {"entries": found.entries, "done": found.done, "missing": found.missing, "state": found.state}


@routes.add("POST", "/journal/append", body=JournalAppend, largest=LARGE_BODY, scopes=("producer", "worker"))
async def append(call: Call) -> object:
    """Append entries, all or none."""
    body: JournalAppend = call.body
    frames = read_frames(body.frames, numbered=False)
    seqs = await call.plane.journals.append(call.namespace, body.journal, frames, append_id=body.append_id)
    return {"seqs": seqs}


@routes.add("POST", "/journal/trim", body=JournalTrim)
async def trim(call: Call) -> object:
    """Drop all but the last entries."""
    body: JournalTrim = call.body
    return {"dropped": await call.plane.journals.trim(call.namespace, body.journal, body.keep_last)}


@routes.add("GET", "/invocations/{id:path}/result/stream")
async def stream(call: Call) -> Response:
    """Stream an invocation's frames verbatim: what is there, then what comes."""
    inv_id = call.checked(check_invocation, call.path("id"))
    frames = await call.plane.reading.stream(
        call.namespace,
        inv_id,
        since=call.integer("since", -1, least=-1),
        timeout_s=min(call.number("timeout_s", 3600.0), 24 * 3600.0),
    )
    return StreamingResponse(frames, media_type=STREAM_MEDIA, headers={"cache-control": "no-store"})
