"""The peers' virtual environment, by uv, and the Redis that some of them need, by apt."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from yardstick.peers import PEERS

_LIMIT_S = 240
_REQUIREMENTS = Path(__file__).parent.parent / "requirements-peers.txt"


@dataclass(frozen=True, slots=True)
class Installed:
    """Where the peers' Python is, and by distribution why one could not be installed."""

    python: Path
    missing: dict[str, str]


def install_peers(say: Callable[[str], None]) -> Installed:
    """Make the environment, once for each content of the requirements and each Python.

    What cannot be installed does not stop the rest. Raises ``RuntimeError`` when there can be no environment.
    """
    folder = _folder()
    python = folder / "bin" / "python"
    ready = folder / "complete"
    if ready.exists():
        return Installed(python, {})
    say("installing the peers (once)")
    failed = "" if python.exists() else _uv("venv", "--quiet", "--python", sys.executable, str(folder))
    if failed:
        raise RuntimeError(f"the peers' virtual environment could not be made: {failed}")
    missing = {}
    for distribution in sorted({each for peer in PEERS for each in peer.distributions}):
        reason = _uv(
            *("pip", "install", "--quiet", "--python", str(python)),
            *("--constraint", str(_REQUIREMENTS), distribution),
        )
        if reason:
            missing[distribution] = f"could not be installed: {reason}"
    if not missing:
        ready.touch()
    return Installed(python, missing)


def find_redis(say: Callable[[str], None]) -> str | None:
    """Give the path of a Redis server, installing Debian's where there is none; None when that fails."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    if shutil.which("apt-get") is None:
        return None
    say("installing redis-server with apt")
    before = [] if os.geteuid() == 0 else ["sudo", "-n"]
    before += ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "redis-server"]):
        _run([*before, *words])
    return shutil.which("redis-server")


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(_REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    return cache / "lakeshore" / "bench-venv" / key


def _uv(*words: str) -> str:
    return _run([os.environ.get("LAKESHORE_BENCH_UV", "uv"), *words])


def _run(command: list[str]) -> str:
    """Run a command and give the reason of its failure in one line, or nothing."""
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=_LIMIT_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    if done.returncode == 0:
        return ""
    return " ".join(done.stderr.split())[-300:] or f"exit status {done.returncode}"
