"""The demo's own control plane: ``lakeshore server --embedded`` on a free port, gone at the end."""

from __future__ import annotations

import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = Path(sys.executable).parent / "lakeshore"
START_S = 60.0
STOP_S = 30.0
_WORDS = "listens on "


@contextmanager
def embedded_server(folder: Path) -> Iterator[str]:
    """Run a server with everything in ``folder`` and give its URL. Raises ``RuntimeError`` with what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.err"
    command = [str(SCRIPT), "server", "--embedded", "--port", "0", "--data", str(folder / "data")]
    with log.open("wb") as err, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err) as server:
        try:
            yield _url(server, log)
        finally:
            server.terminate()
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()
                raise
    if server.returncode != 0:
        raise RuntimeError(f"the server ended with status {server.returncode}: {_last_line(log)}")


def _url(server: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for the line that says where it listens."""
    assert server.stdout is not None
    until = time.monotonic() + START_S
    with selectors.DefaultSelector() as selector:
        selector.register(server.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, until - time.monotonic())):
            line = server.stdout.readline().decode(errors="replace")
            if not line:
                raise RuntimeError(f"the server did not start: {_last_line(log)}")
            if _WORDS in line:
                return line.partition(_WORDS)[2].strip()
    raise RuntimeError(f"the server did not start within {START_S:g} s: {_last_line(log)}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
