"""A Lakeshore home of the benchmark's own, with one worker on it."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import bench_jobs

from dreamlake.lakeshore import Dispatch, HttpDispatch, SyncQueue
from dreamlake.lakeshore.dispatch.plane import Plane
from yardstick.processes import started, tail

QUEUE = "bench"
FIRST_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Lake:
    """An open plane, and the process id of the worker on its queue."""

    plane: Plane
    worker_pid: int

    @property
    def queue(self) -> SyncQueue:
        """Give the queue that the worker works on."""
        return SyncQueue(QUEUE, dispatch=self.plane)


@contextlib.contextmanager
def lake(*flags: str) -> Iterator[Lake]:
    """Open a fresh local plane in a file, and run a worker on it. See ``attended``."""
    with _folder() as home:
        plane = Dispatch(home / "dispatch.sqlite")
        try:
            with attended(plane, {}, home, *flags) as found:
                yield found
        finally:
            plane.close()


@contextlib.contextmanager
def http_lake(url: str, *flags: str) -> Iterator[Lake]:
    """Open the control plane at ``url``, and run a worker on it. See ``attended``."""
    with _folder() as home:
        plane = HttpDispatch(url)
        try:
            # Both sides lie in one folder here: code need not be pushed.
            with attended(plane, {"LAKESHORE_URL": url}, home, *flags) as found:
                yield found
        finally:
            plane.close()


@contextlib.contextmanager
def attended(plane: Plane, where: Mapping[str, str], home: Path, *flags: str) -> Iterator[Lake]:
    """Run ``python -m dreamlake.lakeshore.daemon`` with ``flags`` for a plane; ``where`` names it to the worker.

    The block starts when the worker has answered 20 calls.
    """
    log = home / "worker.log"
    env = {key: value for key, value in os.environ.items() if not key.startswith("LAKESHORE_")}
    env |= {"LAKESHORE_HOME": str(home), "PYTHONPATH": str(Path(bench_jobs.__file__).parent), **where}
    command = [sys.executable, "-m", "dreamlake.lakeshore.daemon", "--queue", QUEUE, *flags]
    with started(command, env=env, log=log, cwd=home) as process:
        found = Lake(plane, process.pid)
        try:
            _warm_up(found)
        except Exception as exc:
            raise RuntimeError(f"the worker did not answer ({exc}): {tail(log)}") from exc
        yield found


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lakeshore-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _warm_up(found: Lake) -> None:
    queue = found.queue
    for _ in range(20):
        got = queue.result(queue.submit(bench_jobs.add, 2, 3), timeout=FIRST_ANSWER_S)
        if got != 5:
            raise AssertionError(f"add(2, 3) gave {got!r}")
