"""Who may speak to a server that asks for no tokens: programs of its own machine, and no web page but its own.

A browser sends requests for any page that it shows, also to 127.0.0.1, and a name that its owner points there is
taken for that page's own host. Neither may work the queues of whoever runs an open server.
"""

from __future__ import annotations

from starlette.requests import Request

from lakeshore_controlplane.faults import Forbidden

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_OWN_SITES = frozenset({"same-origin", "none"})


def check_visitor(request: Request) -> None:
    """Raise ``Forbidden`` for a request that names another host, or that a foreign page makes a browser send."""
    host = request.headers.get("host", "")
    if _without_port(host) not in _LOCAL:
        raise Forbidden(
            "a server without tokens answers to its own machine only, and the request names another host",
            hint="use http://127.0.0.1, or run the server with --auth tokens",
        )
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = (
        site not in _OWN_SITES if site is not None else (origin is not None and origin != f"http://{host}")
    )
    if foreign:
        raise Forbidden("a page of another site may not use a server without tokens")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()
