"""All routes of the page, as the application takes them."""

from __future__ import annotations

from lakeshore_controlplane.api.routing import Endpoint
from lakeshore_controlplane.api.ui import entering, job_page, queue_list, queue_page

ENDPOINTS: list[Endpoint] = [
    endpoint
    for part in (entering.routes, queue_list.routes, queue_page.routes, job_page.routes, entering.elsewhere)
    for endpoint in part.endpoints
]
"""Every route under ``/ui``. They answer with HTML, so the OpenAPI page leaves them out."""
