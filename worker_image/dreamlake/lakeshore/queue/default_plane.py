"""The plane of queues that were given none."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from dreamlake.lakeshore.errors import ConfigError

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.plane import Plane

_lock = threading.Lock()
_planes: dict[
    int, Plane
] = {}  # by process id: a database connection must not be used on both sides of a fork


def default_plane() -> Plane:
    """Give the process's default plane, chosen once from the environment: the SQLite file under the Lakeshore home.

    Raises ``ConfigError`` when ``LAKESHORE_URL`` names a control plane, which this version cannot speak to.
    """
    found = _planes.get(os.getpid())
    if found is None:
        with _lock:
            found = _planes.get(os.getpid())
            if found is None:
                found = _planes[os.getpid()] = _open()
    return found


def _open() -> Plane:
    url = os.environ.get("LAKESHORE_URL")
    if url:
        raise ConfigError(
            f"LAKESHORE_URL is set to {url}, but this version has the local plane only: "
            "unset LAKESHORE_URL, or pass dispatch=Dispatch(path)"
        )
    from dreamlake.lakeshore.home import dispatch_path  # noqa: PLC0415

    from dreamlake.lakeshore.dispatch import Dispatch  # noqa: PLC0415 - sqlite3 only where it is used

    return Dispatch(dispatch_path())


if hasattr(os, "register_at_fork"):

    def _renew_lock() -> None:
        global _lock  # noqa: PLW0603 - the parent's may be held by a thread that the child does not have
        _lock = threading.Lock()

    os.register_at_fork(after_in_child=_renew_lock)
