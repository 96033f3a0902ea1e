"""Opening a database file: its settings, its tables, and the clock's offset for this boot."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from dreamlake.lakeshore.dispatch.clock import Clock, offset_for_boot
from dreamlake.lakeshore.dispatch.plane import Listener
from dreamlake.lakeshore.dispatch.sqlite import faults, schema
from dreamlake.lakeshore.dispatch.wakeups import PollingListener
from dreamlake.lakeshore.errors import ConfigError

IN_MEMORY = ":memory:"
_CACHE_KIB = 16_000
_CHECKPOINT_PAGES = 4_000
_LOG_LIMIT_BYTES = 64 << 20


def connect(path: str) -> sqlite3.Connection:
    """Open the file, making it for this user alone where it was missing. Raises ``ConfigError``."""
    if path != IN_MEMORY:
        _check_file(path)
    try:
        return _raw_connection(path)
    except sqlite3.Error as exc:
        raise faults.open_error(exc, path) from exc


def _raw_connection(path: str) -> sqlite3.Connection:
    # timeout=0: the store waits in its own way. isolation_level=None: it begins transactions itself.
    return sqlite3.connect(
        path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256
    )


def _check_file(path: str) -> None:
    if not path:
        raise ConfigError("an empty path names no file: give one, for example dispatch.sqlite")
    if os.path.isdir(path):  # noqa: PTH112 - a str is at hand
        raise ConfigError(f"{path} is a folder, not a file: name a file in it")
    try:
        # What is in a plane may be run by its workers: nobody else may write to it. A file that is there is not
        # opened here: closing it again would drop the locks that this process's other connections hold on it,
        # and then another process that ends would take itself for the last and delete the log they write to.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        effective = os.access in os.supports_effective_ids
        if not os.access(path, os.R_OK | os.W_OK, effective_ids=effective):
            raise ConfigError(
                f"{path} cannot be opened for writing (Permission denied): "
                "make the file and its folder yours, or set LAKESHORE_HOME elsewhere"
            ) from None
    except (FileNotFoundError, NotADirectoryError) as exc:
        file = Path(path)
        raise ConfigError(f"there is no folder {file.parent} for {file.name}: make it first") from exc
    except OSError as exc:
        raise ConfigError(
            f"{path} cannot be opened for writing ({exc.strerror}): "
            "make the file and its folder yours, or set LAKESHORE_HOME elsewhere"
        ) from exc


def prepare(conn: sqlite3.Connection, path: str, *, durable: bool) -> None:
    """Set the connection up and bring the tables up to date.

    Raises ``ConfigError``, and SQLite's own error while another process is in the way (then call it again).
    """
    # NORMAL: after a power failure the last moments may be missing, the file is whole. FULL: nothing is missing.
    conn.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    conn.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    conn.execute("PRAGMA temp_store = MEMORY")
    conn.execute("PRAGMA secure_delete = OFF")
    version = schema.check_ours(conn, path)
    if path != IN_MEMORY:
        _log_ahead(conn, path)
    if version < len(schema.STEPS):
        conn.execute("BEGIN IMMEDIATE")
        try:
            schema.migrate(conn, path)
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise


def _log_ahead(conn: sqlite3.Connection, path: str) -> None:
    """Switch on write-ahead logging: readers and the one writer do not wait for each other."""
    mode = conn.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise ConfigError(f"{path} lies where SQLite cannot share it (no WAL): put it on a local disk")
    conn.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    conn.execute(f"PRAGMA journal_size_limit = {_LOG_LIMIT_BYTES}")


def boot_offset(conn: sqlite3.Connection, clock: Clock) -> float:
    """Give this boot's offset of the plane's clock, choosing it when the boot is new to the file."""
    boot = clock.boot()
    found = _stored_offset(conn, boot)
    if found is not None:
        return found
    conn.execute("BEGIN IMMEDIATE")
    try:
        found = _stored_offset(conn, boot)
        if found is None:
            found = _start_boot(conn, boot, clock)
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
    return found


def _stored_offset(conn: sqlite3.Connection, boot: str) -> float | None:
    row = conn.execute("SELECT clock_offset FROM boot WHERE id = ?", (boot,)).fetchone()
    return None if row is None else float(row[0])


def _start_boot(conn: sqlite3.Connection, boot: str, clock: Clock) -> float:
    """Choose the offset, and end every lease: no process of the former boot is left to renew it."""
    latest = conn.execute(
        """SELECT max(
            (SELECT coalesce(max(max(submitted_at, coalesce(started_at, 0), coalesce(finished_at, 0))), 0)
             FROM invocation),
            (SELECT coalesce(max(last_seen_at), 0) FROM worker))"""
    ).fetchone()[0]
    offset = offset_for_boot(clock, float(latest))
    conn.execute("DELETE FROM boot")
    conn.execute("INSERT INTO boot VALUES (?, ?)", (boot, offset))
    conn.execute("UPDATE invocation SET lease_until = ? WHERE state = 'running'", (clock.awake() + offset,))
    conn.execute("DELETE FROM worker")
    return offset


def version_poll(path: str) -> Listener:
    """Make a listener that looks at the file's change counter through a connection of its own."""
    conn = _raw_connection(path)

    def version() -> int:
        try:
            return int(conn.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.OperationalError:  # locked for a moment: wake up once too often
            return -1

    return PollingListener(version, conn.close)
