"""A Lakeshore home of the benchmark's own, with one worker on it."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bench_jobs

from dreamlake.lakeshore import Dispatch, SyncQueue
from yardstick.processes import started, tail

QUEUE = "bench"
FIRST_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Lake:
    """An open local plane, and the process id of the worker on its queue."""

    plane: Dispatch
    worker_pid: int

    @property
    def queue(self) -> SyncQueue:
        """Give the queue that the worker works on."""
        return SyncQueue(QUEUE, dispatch=self.plane)


@contextlib.contextmanager
def lake(*flags: str) -> Iterator[Lake]:
    """Open a fresh local plane in a file, and run ``python -m dreamlake.lakeshore.daemon`` on it with ``flags``.

    The block starts when the worker has answered 20 calls.
    """
    with tempfile.TemporaryDirectory(prefix="lakeshore-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        log = home / "worker.log"
        env = {key: value for key, value in os.environ.items() if not key.startswith("LAKESHORE_")}
        env |= {"LAKESHORE_HOME": folder, "PYTHONPATH": str(Path(bench_jobs.__file__).parent)}
        command = [sys.executable, "-m", "dreamlake.lakeshore.daemon", "--queue", QUEUE, *flags]
        plane = Dispatch(home / "dispatch.sqlite")
        try:
            with started(command, env=env, log=log, cwd=home) as process:
                found = Lake(plane, process.pid)
                try:
                    _warm_up(found)
                except Exception as exc:
                    raise RuntimeError(f"the worker did not answer ({exc}): {tail(log)}") from exc
                yield found
        finally:
            plane.close()


def _warm_up(found: Lake) -> None:
    queue = found.queue
    for _ in range(20):
        got = queue.result(queue.submit(bench_jobs.add, 2, 3), timeout=FIRST_ANSWER_S)
        if got != 5:
            raise AssertionError(f"add(2, 3) gave {got!r}")
