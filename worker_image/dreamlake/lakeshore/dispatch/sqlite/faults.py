"""What SQLite's errors mean to a user, and what to do about them."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from dreamlake.lakeshore.errors import ConfigError, DispatchError, PlaneLostError

_WRITE_LOCK_BYTE = "120"
"""The byte of the ``-shm`` file that a writer locks (SQLite's wal.c, WAL_WRITE_LOCK)."""


def is_busy(exc: sqlite3.Error) -> bool:
    """Tell whether another connection is in the way, so that trying again helps."""
    return (getattr(exc, "sqlite_errorcode", 0) or 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def dispatch_error(exc: sqlite3.Error, path: str) -> DispatchError:
    """Say what went wrong with a request. Nothing of it has been stored."""
    code = (getattr(exc, "sqlite_errorcode", None) or 0) & 0xFF
    kind = PlaneLostError if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) else DispatchError
    return kind(_sentence(exc, path))


def gone_error(path: str) -> PlaneLostError:
    """Say that the file is not the one that was opened."""
    return PlaneLostError(
        f"{path} was deleted or replaced while it was open, so nobody would see what this process does: "
        "start it again"
    )


def open_error(exc: sqlite3.Error, path: str) -> ConfigError:
    """Say why the file cannot be opened as a plane."""
    return ConfigError(_sentence(exc, path))


def busy_error(path: str, waited_s: float) -> DispatchError:
    """Say who has kept the file locked for so long."""
    pid = _writer(path)
    if pid is None:
        who = f"find the process that holds it with `fuser -v {path}`"
    else:
        who = f"process {pid} holds it, see `ps -p {pid}`"
    return DispatchError(
        f"{path} stayed locked for {waited_s:.0f} s: {who}; if it is stopped, continue or end it, then try again"
    )


def _sentence(exc: sqlite3.Error, path: str) -> str:
    code = getattr(exc, "sqlite_errorcode", None) or 0
    kind = code & 0xFF
    if kind == sqlite3.SQLITE_FULL or code in (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE):
        return f"no space left for {path}: nothing of this request was stored; free some space and try again"
    if kind == sqlite3.SQLITE_READONLY:
        return f"{path} cannot be written to: make the file and its folder yours, or set LAKESHORE_HOME elsewhere"
    if kind == sqlite3.SQLITE_CANTOPEN:
        return f"{path} cannot be opened: make its folder, and the file, readable and writable for you"
    if kind == sqlite3.SQLITE_NOTADB:
        return f"{path} is not a Lakeshore database: move it away, or name another file"
    if kind == sqlite3.SQLITE_CORRUPT:
        return (
            f"{path} is damaged ({exc}): copy it, then save what can be read with `sqlite3 {path} .recover`"
        )
    return f"the database {path} failed ({type(exc).__name__}: {exc}): nothing of this request was stored"


def _writer(path: str) -> int | None:
    """Find who holds the write lock, from the kernel's list of file locks (Linux)."""
    try:
        inode = os.stat(f"{path}-shm").st_ino  # noqa: PTH116 - a str is at hand
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        fields = line.split()
        if fields[3:4] == ["WRITE"] and fields[5].endswith(f":{inode}") and fields[6] == _WRITE_LOCK_BYTE:
            return int(fields[4]) if int(fields[4]) > 0 else None
    return None
