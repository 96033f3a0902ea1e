"""The tables, and the steps that bring an older file up to date.

``PRAGMA user_version`` counts the steps a file has had. A step is only ever added at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

from dreamlake.lakeshore.errors import ConfigError

Step: TypeAlias = tuple[str, ...]

APPLICATION_ID = 0x4C414B45  # "LAKE"

_FIRST: Step = (
    # One row per invocation. seq is the order of submission. Times are the plane's. The long columns come last,
    # so that reading the others never touches them.
    """CREATE TABLE invocation (
        seq INTEGER PRIMARY KEY,
        ns TEXT NOT NULL,
        queue TEXT NOT NULL,
        id TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'queued',
        priority REAL NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 0,
        crashes INTEGER NOT NULL DEFAULT 0,
        finish_seq INTEGER,
        worker TEXT,
        lease_until REAL,
        due REAL,
        deadline REAL,
        submitted_at REAL NOT NULL,
        queued_at REAL NOT NULL,
        started_at REAL,
        finished_at REAL,
        timeout_s REAL,
        retries INTEGER,
        backoff_base_s REAL,
        backoff_cap_s REAL,
        key TEXT,
        parent TEXT,
        error TEXT,
        envelope BLOB NOT NULL,
        result BLOB
    )""",
    "CREATE UNIQUE INDEX invocation_id ON invocation (ns, id)",
    "CREATE UNIQUE INDEX invocation_key ON invocation (ns, queue, key) WHERE key IS NOT NULL",
    # Every index ends with the row's seq by itself, so this one is the order of claims.
    "CREATE INDEX invocation_ready ON invocation (ns, queue, priority DESC)"
    " WHERE state = 'queued' AND due IS NULL",
    "CREATE INDEX invocation_due ON invocation (ns, queue, due) WHERE state = 'queued' AND due IS NOT NULL",
    "CREATE INDEX invocation_deadline ON invocation (ns, queue, deadline)"
    " WHERE state = 'queued' AND deadline IS NOT NULL",
    "CREATE INDEX invocation_lease ON invocation (ns, queue, lease_until, worker) WHERE state = 'running'",
    "CREATE INDEX invocation_ended ON invocation (ns, queue, state) WHERE finish_seq IS NOT NULL",
    "CREATE UNIQUE INDEX invocation_finish ON invocation (finish_seq) WHERE finish_seq IS NOT NULL",
    # A frame's data may be large, but a journal is read in order: so the rows lie in that order.
    """CREATE TABLE frame (
        ns TEXT NOT NULL, inv_id TEXT NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (ns, inv_id, seq)
    ) WITHOUT ROWID""",
    # floor: the first seq that has not been trimmed. final_seq: the seq of the final frame.
    """CREATE TABLE journal (
        ns TEXT NOT NULL, inv_id TEXT NOT NULL,
        next_seq INTEGER NOT NULL, floor INTEGER NOT NULL DEFAULT 0, final_seq INTEGER,
        PRIMARY KEY (ns, inv_id)
    ) WITHOUT ROWID""",
    # declared: 0 for a queue that was only submitted to. revision: changes with every change of the queue.
    """CREATE TABLE queue (
        ns TEXT NOT NULL, name TEXT NOT NULL,
        declared INTEGER NOT NULL DEFAULT 0, kind TEXT NOT NULL DEFAULT 'fifo',
        state TEXT NOT NULL DEFAULT 'active', temperature REAL NOT NULL DEFAULT 1.0,
        arrived INTEGER NOT NULL DEFAULT 0, finished INTEGER NOT NULL DEFAULT 0,
        mean_duration_s REAL, revision INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (ns, name)
    ) WITHOUT ROWID""",
    """CREATE TABLE worker (
        ns TEXT NOT NULL, id TEXT NOT NULL, queue TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
        state TEXT NOT NULL, concurrency INTEGER NOT NULL,
        started_at REAL NOT NULL, last_seen_at REAL NOT NULL, idle_since REAL NOT NULL,
        PRIMARY KEY (ns, id)
    ) WITHOUT ROWID""",
    "CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO counter VALUES ('finish', 0)",
    # The clock: plane time = seconds since this boot + clock_offset.
    "CREATE TABLE boot (id TEXT PRIMARY KEY, clock_offset REAL NOT NULL) WITHOUT ROWID",
)

_TAGS: Step = ("ALTER TABLE worker ADD COLUMN tags TEXT NOT NULL DEFAULT ''",)  # separated by commas

STEPS: tuple[Step, ...] = (_FIRST, _TAGS)
"""Step n leads from version n to n + 1."""


def version_of(conn: sqlite3.Connection) -> int:
    """Give the file's schema version, 0 for an empty one."""
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def check_ours(conn: sqlite3.Connection, path: str, steps: Sequence[Step] = STEPS) -> int:
    """Give the file's version. Raises ``ConfigError`` for another program's file and for a newer one."""
    version = version_of(conn)
    application = int(conn.execute("PRAGMA application_id").fetchone()[0])
    tables = int(conn.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if application != APPLICATION_ID and (version or application or tables):
        raise ConfigError(f"{path} is another program's database: move it away, or name another file")
    if version > len(steps):
        raise ConfigError(
            f"{path} has schema version {version} and this Lakeshore knows up to {len(steps)}: "
            "upgrade with `pip install --upgrade lakeshore-kube`, or set LAKESHORE_HOME to another folder"
        )
    return version


def migrate(conn: sqlite3.Connection, path: str, steps: Sequence[Step] = STEPS) -> None:
    """Bring the file up to date; the caller holds the write transaction.

    Raises ``ConfigError`` like ``check_ours``.
    """
    for number in range(check_ours(conn, path, steps), len(steps)):
        for statement in steps[number]:
            conn.execute(statement)
        conn.execute(f"PRAGMA user_version = {number + 1}")
    conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
