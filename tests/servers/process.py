"""A server as a process of its own: started, killed, frozen and started again on the same port and data."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from lakeshore_controlplane.embedded import free_port

START_LIMIT_S = 30
STOP_LIMIT_S = 10
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakeshore" / "servers" / "bin"

# Ends the server and removes its data when the pipe that only we hold is closed: we may be killed at any moment.
WATCHER = """
read -r _
kill -9 "$1" 2>/dev/null
tries=0
until rm -rf -- "$2" 2>/dev/null || [ $tries -ge 50 ]; do sleep 0.1; tries=$((tries + 1)); done
"""


class ServerProcess:
    """What the three servers share; each says its ``command``, its ``url`` and how it ``answers``."""

    name = "a server"
    ready = ()  # what it writes when it has its port; others may have taken it meanwhile, and answer as well

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lakeshore-test-"))
        self.data = self.folder / "data"
        self.data.mkdir()
        self.log = self.folder / "server.log"
        self.port = free_port()
        self._process = None
        self._watcher = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        return self._process.pid

    def command(self):
        raise NotImplementedError

    def environment(self):
        return dict(os.environ)

    def answers(self):
        """Whether it serves requests now; gives up after about a second."""
        raise NotImplementedError

    def start(self):
        """Start it and wait until it answers; what it wrote is in the error when it does not."""
        assert not self.answers(), f"port {self.port} of {self.name} is taken by another process"
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self.environment(),
                start_new_session=True,
            )
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER, "sh", str(self.pid), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait_until_it_answers()

    def _wait_until_it_answers(self):
        ends = time.monotonic() + START_LIMIT_S
        while not (self._has_its_port() and self.answers()):
            ended = self._process.poll()
            if ended is not None:
                raise AssertionError(
                    f"{self.name} ended with status {ended} as it started:\n{self.log_tail()}"
                )
            if time.monotonic() > ends:
                raise AssertionError(
                    f"waited {START_LIMIT_S} s for {self.name} to answer on port {self.port}:\n{self.log_tail()}"
                )
            time.sleep(0.005)

    def _has_its_port(self):
        return not self.ready or any(words in self.log.read_bytes() for words in self.ready)

    def log_tail(self):
        return self.log.read_text(errors="replace")[-2000:]

    def kill(self):
        """End it as kill -9 does; ``start`` or ``restart`` brings it back with its data."""
        self._end(signal.SIGKILL)

    def freeze(self):
        """Stop it in its tracks: connections stay open, and nothing answers."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self._process.send_signal(signal.SIGCONT)

    def restart(self):
        """End it properly where it runs, and start it on the same port and data."""
        self._end(signal.SIGTERM)
        self.start()

    def ensure(self):
        """Have it answer whatever the test before did to it."""
        if self._process is None or self._process.poll() is not None:
            self._end(signal.SIGKILL)
            self.start()
        self.thaw()

    def stop(self):
        """End it and remove its data; safe to call twice."""
        self._end(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how):
        if self._process is not None:
            self._process.send_signal(how)
            self._process.send_signal(signal.SIGCONT)
            try:
                self._process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.communicate()
            self._watcher = None


class GivenServer:
    """A server that the environment names: it can be used, and not killed or frozen."""

    def __init__(self, variable):
        self.variable = variable
        self.url = os.environ[variable]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def ensure(self):
        pass

    def _not_ours(self):
        raise AssertionError(
            f"this test kills or freezes its server: unset {self.variable} so that it gets its own"
        )

    kill = freeze = thaw = restart = start = stop = _not_ours


def find_program(*names):
    """Find the first of these programs on PATH, or else where ``scripts/servers`` keeps its own."""
    for name in names:
        found = shutil.which(name) or shutil.which(name, path=str(CACHE))
        if found:
            return found
    raise AssertionError(f"no {' or '.join(names)} found: run scripts/servers")
