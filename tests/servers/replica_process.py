"""A replica of the control plane as a process of its own, on stores that are given to it."""

import http.client
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from servers.process import STOP_LIMIT_S, ServerProcess

ROOT = Path(__file__).parents[2]


class ReplicaProcess(ServerProcess):
    """``with ReplicaProcess(mongo_url=..., mongo_database=..., ...) as replica: replica.url``.

    Keywords are its settings (see ``lakeshore_controlplane.settings``); without ``auth`` it asks for no tokens.
    ``variables``: more of its environment; its ``PYTHONPATH`` goes first.
    """

    name = "the replica"
    ready = (b"lakeshore server: listens on",)

    def __init__(self, *, variables=None, **settings):
        super().__init__()
        self.variables = {"PYTHONPATH": "", **(variables or {})}
        self.settings = {"auth": "off", "log_format": "text", **settings}

    def command(self):
        return [sys.executable, "-m", "lakeshore_controlplane", "--port", str(self.port)]

    def environment(self):
        outer = {name: value for name, value in os.environ.items() if not name.startswith("LAKESHORE_")}
        ours = {f"LAKESHORE_{name.upper()}": str(value) for name, value in self.settings.items()}
        parts = [self.variables["PYTHONPATH"], ROOT / "controlplane", ROOT / "worker_image"]
        path = os.pathsep.join(str(part) for part in parts if part)
        return {**outer, **ours, **self.variables, "PYTHONPATH": path}

    def answers(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def runs(self):
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def terminate(self):
        """Ask it to go away, as an orchestrator does; ``wait`` gives what came of it."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, limit_s=STOP_LIMIT_S):
        """Wait for its end; its exit status."""
        try:
            return self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {limit_s} s:\n{self.log_tail()}") from None

    def resident(self, what="VmRSS"):
        """Bytes of memory that it holds now (``VmRSS``), or held at most (``VmHWM``)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{what}:\s+(\d+) kB", status)[1]) * 1024
