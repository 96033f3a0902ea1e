"""A control plane of the benchmark's own: document server, Redis, replicas."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakeshore_controlplane.embedded import DocumentServer
from yardstick.peers import redis_server
from yardstick.processes import started, tail, wait_for

_STARTING_S = 30.0


@dataclass(frozen=True, slots=True)
class Replica:
    """One running control plane process."""

    url: str
    pid: int


@dataclass(frozen=True, slots=True)
class Stores:
    """Where replicas keep things: the document server, and Redis where there is one."""

    mongo_url: str
    redis_url: str


@contextlib.contextmanager
def stores(redis_program: str | None) -> Iterator[Stores]:
    """Run a document server on a folder of its own, and Redis (in memory only) when its program is given."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="lakeshore-bench-", ignore_cleanup_errors=True)
        )
        server = stack.enter_context(DocumentServer(Path(folder) / "documents"))
        port = None if redis_program is None else stack.enter_context(redis_server(redis_program))
        yield Stores(server.url, "" if port is None else f"redis://127.0.0.1:{port}/0")


@contextlib.contextmanager
def replica(on: Stores) -> Iterator[Replica]:
    """Run one control plane process as an operator would, without tokens."""
    with tempfile.TemporaryDirectory(prefix="lakeshore-bench-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "server.log"
        env = {key: value for key, value in os.environ.items() if not key.startswith("LAKESHORE_")}
        env |= {"LAKESHORE_MONGO_URL": on.mongo_url, "LAKESHORE_REDIS_URL": on.redis_url}
        words = [
            sys.executable,
            "-m",
            "lakeshore_controlplane",
            "--port",
            "0",
            "--auth",
            "off",
            "--log-format",
            "text",
        ]
        with started(words, env=env, log=log, cwd=Path(folder)) as process:
            wait_for(
                lambda: _url_in(log) or process.poll() is not None, "the control plane's URL", _STARTING_S
            )
            url = _url_in(log)
            if url is None:
                raise RuntimeError(f"the control plane ended: {tail(log)}")
            yield Replica(url, process.pid)


@contextlib.contextmanager
def control_plane(redis_program: str | None) -> Iterator[Replica]:
    """Run stores and one replica."""
    with stores(redis_program) as on, replica(on) as found:
        yield found


def _url_in(log: Path) -> str | None:
    found = (
        re.search(r"http://127\.0\.0\.1:[1-9][0-9]*", log.read_text(encoding="utf-8"))
        if log.exists()
        else None
    )
    return None if found is None else found.group()
