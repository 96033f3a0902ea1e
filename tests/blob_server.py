"""A real S3 server for tests, and a relay before it that can be told to fail as networks and stores do."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

from lakeshore_controlplane.embedded import free_port

ACCESS, SECRET, BUCKET = "tests", "tests-secret", "lakeshore"
NOT_FOUND = "no S3 server found: run `go install github.com/versity/versitygw/cmd/versitygw@latest`, or put it on PATH"


def find_program():
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakeshore" / "servers" / "bin"
    found = shutil.which("versitygw") or shutil.which("versitygw", path=str(cache))
    assert found, NOT_FOUND
    return found


class S3Server:
    """versitygw on a folder: ``with S3Server(folder) as server: server.url``. It has one bucket, ``lakeshore``."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        (self.folder / "data" / BUCKET).mkdir(parents=True, exist_ok=True)
        sidecar = self.folder / "metadata"  # not every file system has extended attributes
        sidecar.mkdir(exist_ok=True)
        options = [
            "--access",
            ACCESS,
            "--secret",
            SECRET,
            "--quiet",
            "posix",
            "--sidecar",
            sidecar,
            self.folder / "data",
        ]
        with (self.folder / "s3.log").open("ab") as log:
            self.process = subprocess.Popen(
                [find_program(), "--port", f"127.0.0.1:{self.port}", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for_port(self.port, self.process)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)


def wait_for_port(port, process, limit_s=20.0):
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        assert process.poll() is None, f"the server on port {port} ended with {process.returncode}"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port} after {limit_s} s")


class Relay:
    """Passes connections on to a port. ``cut_after``: bytes of each answer after which it hangs up; ``silent``:
    answers are held back; ``trips``: connections so far."""

    def __init__(self, target):
        self.target = target
        self.cut_after = None
        self.silent = False
        self.trips = 0
        self._open = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.trips += 1
            far = socket.create_connection(("127.0.0.1", self.target))
            self._open += [near, far]
            for args in ((near, far, False), (far, near, True)):
                self._threads.append(threading.Thread(target=self._pump, args=args, daemon=True))
                self._threads[-1].start()

    def _pump(self, source, sink, is_answer):
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while is_answer and self.silent:
                    time.sleep(0.01)
                if is_answer and self.cut_after is not None:
                    data = data[: max(0, self.cut_after - passed)]
                sink.sendall(data)
                passed += len(data)
                if is_answer and self.cut_after is not None and passed >= self.cut_after:
                    break
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.silent = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for end in self._open:
            end.close()
