"""The demo: a census of the Python standard library on an elastic pool of local workers.

Real files are parsed by jobs on a queue. The pool starts empty, grows with the work, loses a worker to ``kill -9`` in
the middle of a job, and is empty again at the end. Run it by ``scripts/demo``; with ``--url`` the jobs go through a
control plane over HTTP.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import sysconfig
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from census import measure, record_holders, slow_walk
from pool_thread import PoolThread
from report import Facts, write_report
from rich.console import Console
from server_beside import embedded_server

import dreamlake.lakeshore as dls
from dreamlake.lakeshore.dispatch.http.administration import administration
from dreamlake.lakeshore.home import default_plane, use_plane

HERE = Path(__file__).parent
WAIT_S = 60.0

console = Console(highlight=False)


def main() -> int:
    """Run the demo; 0 when every part of it did what it should."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-report.html"), help="where the report goes")
    parser.add_argument("--files", type=int, default=1700, help="source files to look at, at most")
    parser.add_argument(
        "--url",
        help="work on this control plane (its token in LAKESHORE_CLIENT_TOKEN), or on one that is started for the "
        "demo: `embedded`",
    )
    args = parser.parse_args()
    paths = standard_library(args.files)
    with tempfile.TemporaryDirectory(prefix="lakeshore-demo-") as folder, ExitStack() as stack:
        os.environ["LAKESHORE_HOME"] = folder
        # Workers import the bodies by name, so they must find this folder, wherever the demo was started.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
        choose_plane(args.url, Path(folder), stack)
        with PoolThread(HERE / "queue.yaml", lease_s=2.0) as pool:
            facts = run(paths, pool)
        facts.samples, facts.events = pool.samples, pool.events
        facts.decisions = decisions_kept()
    if args.url == "embedded":
        console.print("   server: stopped, with its document server")
    write_report(args.out, facts)
    print_summary(facts)
    console.print(f"report: {args.out}")
    return 0 if facts.ok else 1


def choose_plane(url: str | None, folder: Path, stack: ExitStack) -> None:
    """Make the local plane or a control plane this process's and its workers'; a server ends with ``stack``."""
    token, namespace = os.environ.get("LAKESHORE_CLIENT_TOKEN"), os.environ.get("LAKESHORE_NAMESPACE")
    if url == "embedded":
        began = time.monotonic()
        url, token, namespace = stack.enter_context(embedded_server(folder / "server")), None, None
        console.print(f"server: listens on {url} after {time.monotonic() - began:.1f} s")
    use_plane(url, token=token, namespace=namespace or "default")
    stack.callback(default_plane().close)


def decisions_kept() -> int | None:
    """Count what the control plane keeps of the pool's decisions; None on the local plane."""
    if default_plane().local:
        return None
    rest = administration(default_plane())
    assert rest is not None
    with closing(rest):
        return len(rest.elasticity_events("census"))


def standard_library(most: int) -> list[str]:
    """List the source files of the standard library, packages installed into it left out."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found = (
        path
        for path in root.rglob("*.py")
        if "site-packages" not in path.parts and "dist-packages" not in path.parts
    )
    return sorted(str(path) for path in found)[:most]


def run(paths: list[str], pool: PoolThread) -> Facts:
    """Run the parts one after another and collect what happened."""
    facts = Facts(files=len(paths))
    take_census(paths, pool, facts)
    watch_stream(paths, facts)
    lose_a_worker(paths, pool, facts)
    wait_for_zero(pool, facts)
    return facts


def take_census(paths: list[str], pool: PoolThread, facts: Facts) -> None:
    """Part 1: measure every file by ``map``."""
    console.rule(f"1. map: {len(paths)} source files, {pool.alive} workers to begin with")
    began = time.monotonic()
    done = 0
    said = began
    for row in measure.map(paths, chunk=200):
        facts.add(row)
        done += 1
        now = time.monotonic()
        if not sys.stderr.isatty() and now - said >= 2.0:
            said = now
            console.print(f"   {done} of {len(paths)} files, {pool.line()}")
    facts.census_s = time.monotonic() - began
    console.print(f"   {done} files in {facts.census_s:.1f} s; {pool.line()}")


def watch_stream(paths: list[str], facts: Facts) -> None:
    """Part 2: one streaming job, shown as it yields."""
    console.rule("2. stream: each function that is longer than all before it")
    began = time.monotonic()
    inv = record_holders.submit(paths)
    for value in dls.SyncQueue("census").stream(inv, timeout=WAIT_S):
        facts.streamed += 1
        name = Path(value["path"]).name
        console.print(
            f"   after {time.monotonic() - began:5.2f} s  {value['lines']:4d} lines  {value['name']} ({name})"
        )


def lose_a_worker(paths: list[str], pool: PoolThread, facts: Facts) -> None:
    """Part 3: ``kill -9`` the worker of a running job; another one finishes it."""
    console.rule("3. kill -9 a worker in the middle of a job")
    queue = dls.SyncQueue("census")
    inv = slow_walk.submit(paths[:20], 0.15)
    worker = wait_until(lambda: running_worker(queue.dispatch, inv), "the job to start")
    time.sleep(0.5)  # let it get somewhere
    os.kill(worker["pid"], signal.SIGKILL)
    killed = time.monotonic()
    console.print(f"   attempt 1 ran on process {worker['pid']}: killed")
    result = queue.result(inv, timeout=WAIT_S)
    facts.attempts = result["attempt"]
    facts.recovered_s = time.monotonic() - killed
    row = queue.dispatch.get(inv) or {}
    where = row.get("worker") or "another worker"
    console.print(f"   attempt {result['attempt']} finished {facts.recovered_s:.1f} s later on {where}")
    console.print(f"   its result: {result['lines']:,} lines in {result['files']} files")


def wait_for_zero(pool: PoolThread, facts: Facts) -> None:
    """Part 4: nothing waits, so the pool shrinks to nothing."""
    console.rule("4. back to zero workers")
    began = time.monotonic()
    wait_until(lambda: pool.alive == 0, "the pool to be empty")
    facts.to_zero_s = time.monotonic() - began
    facts.back_to_zero = True
    console.print(f"   empty after {facts.to_zero_s:.1f} s without work")


def running_worker(plane: Any, inv: str) -> dict[str, Any] | None:
    """Give the id and process of the worker that runs an invocation, or None."""
    row = plane.get(inv)
    if row is None or row["state"] != "running":
        return None
    for record in plane.workers("census"):
        if record.id == row["worker"]:
            return {"id": record.id, "pid": record.pid}
    return None


def wait_until(condition: Any, what: str) -> Any:
    """Wait for a condition to hold and give its value. Raises ``TimeoutError`` naming what was waited for."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise TimeoutError(f"waited {WAIT_S:g} s for {what}")


def print_summary(facts: Facts) -> None:
    """Print what the census found and how the pool behaved."""
    console.rule("summary")
    for name, value in facts.lines():
        console.print(f"   {name:<28} {value}")


if __name__ == "__main__":
    sys.exit(main())
