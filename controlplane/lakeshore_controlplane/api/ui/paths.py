"""The addresses of the pages. An invocation id may hold ``/`` and ``..``, so it goes into the query."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

HOME = "/ui"
LOGIN = "/ui/login"
LOGOUT = "/ui/logout"
_INSIDE = re.compile(r"/ui(?:/[A-Za-z0-9._:~%/-]*)?(?:\?[A-Za-z0-9._:~%&=+/-]*)?", re.ASCII)
_LONGEST = 1_000


def queues(namespace: str, **query: str | int) -> str:
    """All queues of a namespace."""
    return _with(f"/ui/ns/{quote(namespace, safe=':')}", query)


def queue(namespace: str, name: str, **query: str | int) -> str:
    """One queue."""
    return _with(f"{queues(namespace)}/queues/{quote(name, safe=':')}", query)


def queue_action(namespace: str, name: str, verb: str) -> str:
    """Where the button of a lifecycle verb leads."""
    return f"{queue(namespace, name)}/{verb}"


def job(namespace: str, inv_id: str) -> str:
    """One invocation."""
    return _with(f"{queues(namespace)}/job", {"id": inv_id})


def login(after: str = "") -> str:
    """The login page that leads to ``after``."""
    return _with(LOGIN, {"next": after} if after and after != HOME else {})


def inside(path: str | None) -> str:
    """Give a path of our own pages back, and the first page for anything else: no redirect leads out."""
    safe = path is not None and len(path) <= _LONGEST and _INSIDE.fullmatch(path) and "//" not in path
    return path if safe and path is not None else HOME


def _with(path: str, query: dict[str, str] | dict[str, str | int]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
