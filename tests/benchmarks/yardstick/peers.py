"""Running the peers' scripts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from yardstick.figures import percentile
from yardstick.processes import end_group, started, wait_for
from yardstick.verdicts import PeerFigures

_SCRIPTS = Path(__file__).parent.parent / "peers"
_LIMIT_S = 100.0
_STARTING_S = 15.0


@dataclass(frozen=True, slots=True)
class Peer:
    """One peer: its script, what must be installed for it, whether it needs Redis, and its settings."""

    name: str
    script: str
    distributions: tuple[str, ...]
    redis: bool = True
    env: Mapping[str, str] = field(default_factory=dict)


PEERS: tuple[Peer, ...] = (
    Peer("Celery (Redis)", "peer_celery.py", ("celery[redis]",)),
    Peer("RQ (Redis)", "peer_rq.py", ("rq",)),
    Peer("Dramatiq (Redis)", "peer_dramatiq.py", ("dramatiq[redis]",)),
    Peer("Taskiq (Redis)", "peer_taskiq.py", ("taskiq", "taskiq-redis")),
    Peer("Huey (Redis)", "peer_huey.py", ("huey", "redis")),
    Peer("Huey (SQLite)", "peer_huey.py", ("huey",), redis=False, env={"BENCH_HUEY": "sqlite"}),
    Peer("Ray", "peer_ray.py", ("ray",), redis=False, env={"RAY_USAGE_STATS_ENABLED": "0"}),
    Peer("Dask", "peer_dask.py", ("dask", "distributed"), redis=False),
)


@contextlib.contextmanager
def redis_server(program: str) -> Iterator[int]:
    """Run a Redis on a free port of the loopback interface, in memory only, and give the port."""
    with tempfile.TemporaryDirectory(prefix="lakeshore-bench-") as folder:
        port = _free_port()
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        command += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
        with started(command, env=os.environ, log=Path(folder) / "log", cwd=Path(folder)):
            wait_for(lambda: redis_says(port, "PING") == "+PONG", "Redis answers PING", _STARTING_S)
            yield port


def redis_says(port: int, command: str) -> str:
    """Send one inline command and give the first line of the answer; nothing when nobody answers."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection:
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(1024).decode("utf-8", "replace").splitlines()[0]
    except (OSError, IndexError):
        return ""


def measure_peer(
    peer: Peer, into: PeerFigures, *, python: Path, redis_port: int | None, jobs: int, calls: int
) -> PeerFigures:
    """Run a peer once and give ``into`` with one more repeat, or with the reason why it has none."""
    if peer.redis and redis_port is None:
        return PeerFigures(peer.name, absent="no redis-server: apt-get install redis-server")
    if redis_port is not None:
        redis_says(redis_port, "FLUSHALL")
    with tempfile.TemporaryDirectory(prefix="lsb-", ignore_cleanup_errors=True) as folder:
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env |= {"BENCH_REDIS_PORT": str(redis_port or 0), "BENCH_SCRATCH": folder, **peer.env}
        command = [str(python), peer.script, "--jobs", str(jobs), "--calls", str(calls)]
        try:
            return added(into, _printed(command, env))
        except (OSError, RuntimeError, ValueError, KeyError) as exc:
            return _with_failure(into, reason(str(exc)))


def added(into: PeerFigures, printed: str) -> PeerFigures:
    """Add the repeat that a peer's script printed as its last line of JSON. Raises ``ValueError``, ``KeyError``."""
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    if not lines:
        raise ValueError("it printed no figures")
    found = json.loads(lines[-1])
    into.loop_per_s.append(float(found["loop_per_s"]))
    if "batch_per_s" in found:
        into.batch_per_s.append(float(found["batch_per_s"]))
    into.p50_ms.append(percentile(found["latencies_ms"], 0.5))
    into.p99_ms.append(percentile(found["latencies_ms"], 0.99))
    version = str(found["version"])
    return PeerFigures(
        into.name, version, into.loop_per_s, into.batch_per_s, into.p50_ms, into.p99_ms, into.absent
    )


def reason(text: str) -> str:
    """Shorten an error for the report: one line, without the folders of this machine."""
    without = re.sub(r"(?<![\w:/])/(?:[^\s/:'\"]+/)+", "", text)
    line = " ".join(without.split())
    return line if len(line) <= 240 else f"... {line[-236:]}"


def _with_failure(into: PeerFigures, why: str) -> PeerFigures:
    return PeerFigures(
        into.name, into.version, into.loop_per_s, into.batch_per_s, into.p50_ms, into.p99_ms, f"failed: {why}"
    )


def _printed(command: list[str], env: Mapping[str, str]) -> str:
    process = subprocess.Popen(
        command,
        env=env,
        cwd=_SCRIPTS,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it took more than {_LIMIT_S:g} s") from None
    finally:
        end_group(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if process.returncode != 0:
        words = err.decode("utf-8", "replace").strip().splitlines() or [signal_text(process.returncode)]
        raise RuntimeError(words[-1])
    return out.decode("utf-8", "replace")


def signal_text(status: int) -> str:
    """Say how a process ended."""
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
