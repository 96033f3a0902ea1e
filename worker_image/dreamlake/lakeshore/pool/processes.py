"""Worker processes of one queue: started, asked to drain, watched. The pool's hands, without a will."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LOGS_KEPT = 20
"""Logs of workers that have ended, the latest of a queue."""


@dataclass(slots=True)
class WorkerProcess:
    """One worker process that the pool started. Times are on the pool's clock, in seconds."""

    name: str
    process: subprocess.Popen[bytes]
    started_at: float
    log: Path
    drain_began: float | None = None

    @property
    def draining(self) -> bool:
        """Whether it was asked to go."""
        return self.drain_began is not None

    @property
    def pid(self) -> int:
        """The process id, which the worker's own record on the plane carries too."""
        return self.process.pid


@dataclass(frozen=True, slots=True)
class Ended:
    """A worker process that has ended. ``status``: its exit status, below 0 the signal that ended it."""

    worker: WorkerProcess
    status: int

    @property
    def in_words(self) -> str:
        """Say how it ended."""
        if self.status >= 0:
            return f"exit status {self.status}"
        try:
            return f"ended by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"ended by signal {-self.status}"


@dataclass(slots=True)
class ProcessPool:
    """The worker processes of one queue. ``command``: what starts one; ``log_dir``: where they write."""

    queue: str
    command: Sequence[str]
    log_dir: Path
    clock: Callable[[], float] = time.monotonic
    workers: dict[str, WorkerProcess] = field(default_factory=dict)
    _logs: deque[Path] = field(default_factory=deque)
    _serial: int = 0

    def start(self) -> WorkerProcess:
        """Start one worker. Raises ``OSError`` when the machine cannot."""
        self._serial += 1
        name = f"{self.queue}-{self._serial}"
        log = self.log_dir / f"{name}.log"
        started_at = self.clock()  # taken first: never later than the time in the worker's record
        self.log_dir.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            # A session of its own: Ctrl-C in the terminal is for the pool, which drains its workers.
            process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        worker = WorkerProcess(name, process, started_at, log)
        self.workers[name] = worker
        return worker

    def drain(self, name: str) -> None:
        """Ask a worker to end what it runs, start nothing more, and exit."""
        worker = self.workers[name]
        if not worker.draining:
            worker.drain_began = self.clock()
            self._signal(worker, signal.SIGTERM)

    def stop_all(self) -> None:
        """Ask every worker to hand its running job back and exit now."""
        for worker in self.workers.values():
            if not worker.draining:
                worker.drain_began = self.clock()
                self._signal(worker, signal.SIGTERM)
            self._signal(worker, signal.SIGTERM)

    def reap(self) -> list[Ended]:
        """Collect the workers that have ended since the last call."""
        gone: list[Ended] = []
        for name, worker in list(self.workers.items()):
            status = worker.process.poll()
            if status is None:
                continue
            del self.workers[name]
            gone.append(Ended(worker, status))
            self._logs.append(worker.log)
        while len(self._logs) > LOGS_KEPT:
            self._logs.popleft().unlink(missing_ok=True)
        return gone

    def kill_all(self, timeout_s: float = 10.0) -> None:
        """End whatever is left, at once; leases bring its jobs back. For the very end only."""
        for worker in self.workers.values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(worker.pid, signal.SIGKILL)
        for worker in self.workers.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(timeout_s)
        self.reap()

    @staticmethod
    def _signal(worker: WorkerProcess, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(worker.pid, number)


def worker_command(
    queue: str,
    *,
    namespace: str,
    root: Path,
    concurrency: int,
    retries: int,
    lease_s: float | None,
    drain_timeout_s: float | None,
) -> list[str]:
    """Build the command line of a worker of this process's pool."""
    command = [sys.executable, "-m", "dreamlake.lakeshore.pool.member", str(os.getpid())]
    command += ["--queue", queue, "--namespace", namespace, "--root", str(root)]
    command += ["--concurrency", str(concurrency), "--retries", str(retries)]
    if lease_s is not None:
        command += ["--lease", f"{lease_s:g}"]
    if drain_timeout_s is not None:
        command += ["--drain-timeout", f"{drain_timeout_s:g}"]
    return command


def last_lines(log: Path, count: int = 3) -> str:
    """Give the end of a worker's log, for the message that says why it did not start."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 4096))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    text = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return " / ".join(lines[-count:])
