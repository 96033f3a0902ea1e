"""How a peer is timed: the same for every one of them, and the same as for Lakeshore.

One worker with one slot answers ``add(a, b)``. After it has answered for the first time and some more calls have
warmed it up: all jobs are submitted and then all results awaited (one by one, and again by the peer's own batch verb
where it has one); then single calls are timed, submit to result. One JSON line on standard output tells the outcome.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

FIRST_ANSWER_S = 45.0
WARM_UP = 20


@dataclass(frozen=True, slots=True)
class Ways:
    """How a peer submits one call, waits for it, and (``batch``) does many in its own best way, in order."""

    submit: Callable[[int, int], Any]
    wait: Callable[[Any, float], int]
    batch: Callable[[Sequence[int]], Sequence[int]] | None = None


def redis_url(database: int) -> str:
    """Give the URL of a database of the benchmark's own Redis."""
    return f"redis://127.0.0.1:{os.environ['BENCH_REDIS_PORT']}/{database}"


def scratch() -> Path:
    """Give the benchmark's own folder for a peer's files."""
    return Path(os.environ["BENCH_SCRATCH"])


def time_peer(distribution: str, ways: Ways) -> None:
    """Time a peer whose worker runs, and print its figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--calls", type=int, default=200)
    flags = parser.parse_args()
    for _ in range(WARM_UP):
        check(ways.wait(ways.submit(2, 3), FIRST_ANSWER_S), 5)
    figures: dict[str, object] = {"version": version(distribution), "loop_per_s": _loop(ways, flags.jobs)}
    if ways.batch is not None:
        figures["batch_per_s"] = _batch(ways.batch, flags.jobs)
    figures["latencies_ms"] = _one_at_a_time(ways, flags.calls)
    print(json.dumps(figures), flush=True)


def check(got: int, wanted: int) -> None:
    """Refuse a figure that rests on wrong answers."""
    if got != wanted:
        raise AssertionError(f"the peer answered {got!r} instead of {wanted!r}")


def _loop(ways: Ways, jobs: int) -> float:
    began = time.perf_counter()
    handles = [ways.submit(i, 3) for i in range(jobs)]
    for i, handle in enumerate(handles):
        check(ways.wait(handle, 60.0), i + 3)
    return jobs / (time.perf_counter() - began)


def _batch(batch: Callable[[Sequence[int]], Sequence[int]], jobs: int) -> float:
    began = time.perf_counter()
    answers = batch(range(jobs))
    taken = time.perf_counter() - began
    check(sum(answers), sum(range(jobs)) + 3 * jobs)
    return jobs / taken


def _one_at_a_time(ways: Ways, calls: int) -> list[float]:
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        ways.wait(ways.submit(2, 3), 30.0)
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


@contextlib.contextmanager
def worker(*command: str) -> Iterator[None]:
    """Run a peer's worker (a program of this virtual environment) beside the block, in this folder."""
    program = Path(sys.executable).with_name(command[0])
    log = scratch() / f"{command[0]}-worker.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(program), *command[1:]], cwd=Path(__file__).parent, stdout=out, stderr=out, process_group=0
        )
    try:
        yield
    except BaseException:
        sys.stderr.write(log.read_text(errors="replace")[-2000:])
        raise
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(8)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(8)
