"""Routes for large things: payloads and archives of code, through the server or by presigned URLs."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from lakeshore_controlplane.api.bodies.producer import AnnounceCode, AnnouncePayload
from lakeshore_controlplane.api.decoding import read_body
from lakeshore_controlplane.api.routing import Call, daemon_routes, producer_routes

producing = producer_routes()
working = daemon_routes()
_RAW = "application/octet-stream"


@producing.add("POST", "/payloads", body=AnnouncePayload, scopes=("producer", "worker"))
async def announce_payload(call: Call) -> object:
    """Announce a payload; the answer says where to upload it."""
    body: AnnouncePayload = call.body
    return await call.plane.payloads.announce(call.namespace, size=body.size, sha256=body.sha256)


@producing.add("PUT", "/payloads/{ref:path}", scopes=("producer", "worker"))
async def put_payload(call: Call) -> object:
    """Take a payload through the server."""
    data = await read_body(call.request, call.plane.settings.payload_limit)
    await call.plane.payloads.put(call.namespace, call.path("ref"), data)
    return {"ok": True}


@producing.add("GET", "/payloads/{ref:path}", scopes=("producer", "worker"))
async def get_payload(call: Call) -> object:
    """Give a payload, or the URL where it lies."""
    ref = call.path("ref")
    url = await call.plane.payloads.url(call.namespace, ref)
    if url is not None:
        return RedirectResponse(url, 307)
    return Response(await call.plane.payloads.fetch(call.namespace, ref), media_type=_RAW)


@producing.add("POST", "/code-repos", body=AnnounceCode)
async def announce_code(call: Call) -> object:
    """Announce a snapshot of a git tree; the answer says whether it is there already, or where to upload it."""
    body: AnnounceCode = call.body
    return await call.plane.code_repos.announce(call.namespace, **body.model_dump())


@producing.add("PUT", "/code-repos/{id:path}/archive")
async def put_code(call: Call) -> object:
    """Take an archive through the server."""
    data = await read_body(call.request, call.plane.settings.code_limit)
    await call.plane.code_repos.put(call.namespace, call.path("id"), data)
    return {"ok": True}


@producing.add("GET", "/code-repos/{id:path}/archive")
@working.add("GET", "/code-repos/{id:path}/archive")
async def get_code(call: Call) -> object:
    """Give an archive, or the URL where it lies."""
    url = await call.plane.code_repos.url(call.namespace, call.path("id"))
    if url is not None:
        return RedirectResponse(url, 307)
    data = await call.plane.code_repos.fetch(call.namespace, call.path("id"))
    return Response(data, media_type=_RAW)
