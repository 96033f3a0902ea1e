"""Open routes: is the process alive, can it serve, what does it count."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from lakeshore_controlplane.api.routing import Call, Routes
from lakeshore_controlplane.metrics import CONTENT_TYPE

routes = Routes(("",), (), "application/json", "operations")


@routes.add("GET", "/healthz")
async def healthz(call: Call) -> object:
    """The process answers."""
    return {"ok": True}


@routes.add("GET", "/readyz")
async def readyz(call: Call) -> object:
    """The stores answer: 200, or 503 with those that do not. A missing lane or blob store only slows things down."""
    found = await call.plane.readiness()
    ready = found["documents"] == "ok" and not call.plane.stopping()
    state = "ok" if ready else ("stopping" if call.plane.stopping() else "documents are down")
    return JSONResponse({"ready": ready, "state": state, "stores": found}, 200 if ready else 503)


@routes.add("GET", "/metrics")
async def metrics(call: Call) -> object:
    """Prometheus metrics."""
    return Response(call.plane.metrics.render(), media_type=CONTENT_TYPE)
