"""One pool per queue on a machine: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from dreamlake.lakeshore.errors import ConfigError


def own_queue(home: Path, namespace: str, queue: str) -> int:
    """Take the queue for this pool and give the descriptor that holds it: closing it lets the queue go.

    Two pools would each order the workers that the other ordered already. Raises ``ConfigError`` naming the
    process that has the queue.
    """
    path = home / "pools" / namespace / f"{queue}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise ConfigError(
            f"{path} cannot be written to ({exc.strerror}): make it yours, or set LAKESHORE_HOME elsewhere"
        ) from exc
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(fd, 0)
        os.write(fd, str(os.getpid()).encode())
    except BlockingIOError:
        holder = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(fd)
        raise ConfigError(
            f"queue {queue!r} has a pool on this machine already (process {holder}): stop that one first"
        ) from None
    except OSError as exc:
        os.close(fd)
        raise ConfigError(f"{path} cannot be locked ({exc.strerror}): set LAKESHORE_HOME elsewhere") from exc
    return fd
