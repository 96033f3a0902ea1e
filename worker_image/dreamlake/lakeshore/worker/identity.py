"""A worker's name and its record on the plane."""

from __future__ import annotations

import os
import re
import socket

from dreamlake.lakeshore.invocation_id import new_id


def new_worker_id() -> str:
    """Name a worker process: unique per start, readable in a list (host, pid, ULID)."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:40] or "host"
    return f"{host}-{os.getpid()}-{new_id()}"
