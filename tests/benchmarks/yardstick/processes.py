"""Processes that the benchmarks start: each in a group of its own, each ended for certain."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


@contextlib.contextmanager
def started(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process beside the block; its whole group is ended with it. Its output goes to ``log``."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end_group(process)


def end_group(process: subprocess.Popen[bytes], patience_s: float = 8.0) -> None:
    """Ask a process to end, then kill what is left of its group."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience_s)


def wait_for(condition: Callable[[], object], what: str, limit_s: float, pause_s: float = 0.02) -> None:
    """Wait until ``condition()`` holds. Raises ``TimeoutError`` naming ``what``."""
    ends = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"{what}: not within {limit_s:g} s")
        time.sleep(pause_s)


def tail(log: Path, lines: int = 3) -> str:
    """Give a log's last lines in one line."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return " | ".join([line.strip() for line in text.splitlines() if line.strip()][-lines:])


def adopt_orphans() -> None:
    """Become the parent of grandchildren that outlive theirs, so that ``end_children`` finds them (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children(keep: set[int]) -> None:
    """Kill and collect every child of this process, adopted ones included, but those in ``keep``."""
    for pid in family(os.getpid()) - {os.getpid()} - _families(keep):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _families(roots: set[int]) -> set[int]:
    found: set[int] = set()
    for root in roots:
        found |= family(root)
    return found


def family(root: int) -> set[int]:
    """Give a process and its descendants, by /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(entry.name))
        if fields:
            parents[int(entry.name)] = int(fields[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def cpu_s(pids: set[int]) -> float:
    """Give the processor seconds, user and system, that processes have used so far."""
    ticks = sum(int(fields[11]) + int(fields[12]) for pid in pids if (fields := _stat(pid)))
    return ticks / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    """Give a process's resident memory (VmRSS) in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/status has no VmRSS")


def _stat(pid: int) -> list[str]:
    """Give the fields of /proc/PID/stat from the state (field 3) on; nothing for one that is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
