"""The connection of one plane: transactions that wait their turn, snapshots, the clock, wake-ups after commit."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from dreamlake.lakeshore.dispatch.clock import Clock
from dreamlake.lakeshore.dispatch.plane import Listener
from dreamlake.lakeshore.dispatch.sqlite import faults
from dreamlake.lakeshore.dispatch.sqlite.opening import IN_MEMORY, boot_offset, connect, prepare, version_poll
from dreamlake.lakeshore.dispatch.wakeups import FileWakeups, LocalWakeups, Wakeups
from dreamlake.lakeshore.errors import DispatchError

PATIENCE_S = 30.0
"""Seconds that a request waits for its turn on a locked file."""
_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.002

_T = TypeVar("_T")


class Transaction:
    """One write transaction; its wake-ups go out once it is committed."""

    __slots__ = ("conn", "lease_now", "now", "ns", "topics")

    def __init__(self, conn: sqlite3.Connection, ns: str, now: float, lease_now: float) -> None:
        self.conn = conn
        self.ns = ns
        self.now = now
        self.lease_now = lease_now
        self.topics: set[str] = set()

    def run(self, sql: str, args: Sequence[object] = ()) -> sqlite3.Cursor:
        """Execute one statement."""
        return self.conn.execute(sql, args)

    def take_finish_numbers(self, count: int) -> int:
        """Reserve ``count`` numbers of the order in which invocations end; the first of them."""
        row = self.run(
            "UPDATE counter SET value = value + ? WHERE name = 'finish' RETURNING value", (count,)
        ).fetchone()
        return int(row[0]) - count + 1


class Store:
    """A database opened by one process, usable from all of its threads."""

    def __init__(self, path: str, *, ns: str, durable: bool, clock: Clock, rng: random.Random) -> None:
        self.path = path
        self.ns = ns
        self.rng = rng
        self._clock = clock
        self._durable = durable
        self._lock = threading.RLock()
        self._closed = False
        self._spare: Listener | None = None
        self._conn: sqlite3.Connection | None = None
        self._open()
        self.wakeups: Wakeups = (
            LocalWakeups() if path == IN_MEMORY else FileWakeups(path, ns, self._listen_by_polling)
        )
        _opened.add(self)

    def _open(self) -> None:
        conn = connect(self.path)
        try:
            self._patiently(lambda: prepare(conn, self.path, durable=self._durable))
            self._offset = self._patiently(lambda: boot_offset(conn, self._clock))
        except sqlite3.Error as exc:
            conn.close()
            raise faults.open_error(exc, self.path) from exc
        except BaseException:
            conn.close()
            raise
        self._conn = conn
        self._file = _identity(self.path)
        self._finalizer = weakref.finalize(self, conn.close)

    def now(self) -> float:
        """Seconds on the plane's clock."""
        return self._clock.steady() + self._offset

    def lease_now(self) -> float:
        """Seconds on the clock of leases, which stands still while the machine sleeps."""
        return self._clock.awake() + self._offset

    def from_wall(self, wall: float) -> float:
        """Convert a Unix time to the plane's clock, by what both show now."""
        return self.now() + (wall - self._clock.wall())

    def rows(self, sql: str, args: Sequence[object] = ()) -> list[Any]:
        """Read by one statement."""
        with self._using() as conn:
            return self._patiently(lambda: conn.execute(sql, args).fetchall())

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Read by several statements, all of one snapshot."""
        with self._using() as conn:
            self._check_not_inside(conn)
            try:
                # The snapshot is taken by the first statement, which may meet a lock; after that nothing can.
                self._patiently(lambda: _begin_snapshot(conn))
                yield conn
            finally:
                self._leave(conn, "COMMIT")

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Change something, or nothing when the block raises. Waits for its turn, at most ``PATIENCE_S``."""
        with self._using() as conn:
            self._check_not_inside(conn)
            try:
                self._patiently(lambda: conn.execute("BEGIN IMMEDIATE"))
                tx = Transaction(conn, self.ns, self.now(), self.lease_now())
                yield tx
                self._patiently(lambda: conn.execute("COMMIT"))
            except BaseException:
                self._leave(conn, "ROLLBACK")
                raise
        if tx.topics:
            self.wakeups.notify(tx.topics)

    @contextmanager
    def listening_for_ends(self) -> Iterator[Listener]:
        """Lend a listener to ``done``, and keep it for the next who asks: a socket's file costs more than a wait."""
        with self._lock:
            listener, self._spare = self._spare, None
        listener = listener or self.wakeups.listen("done")
        try:
            yield listener
        finally:
            with self._lock:
                if self._spare is None and not self._closed:
                    listener, self._spare = None, listener
            if listener is not None:
                listener.close()

    def _check_not_inside(self, conn: sqlite3.Connection) -> None:
        """The lock lets the same thread in again, which can only be a signal's handler that came in between."""
        if conn.in_transaction:
            raise DispatchError(
                "this plane was used by a signal handler in the middle of another call: "
                "let the handler set a flag, and use the plane after it"
            )

    def _leave(self, conn: sqlite3.Connection, statement: str) -> None:
        if conn is self._conn and conn.in_transaction:  # it is not ours where a fork has come in between
            conn.execute(statement)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                conn = self._conn or self._reopened()
                if self._file != _identity(self.path):
                    raise faults.gone_error(self.path)
                yield conn
            except sqlite3.Error as exc:
                raise faults.dispatch_error(exc, self.path) from exc

    def _reopened(self) -> sqlite3.Connection:
        if self._closed:
            raise DispatchError(f"this plane ({self.path}) is closed: open a new Dispatch")
        if self.path == IN_MEMORY:
            raise DispatchError(
                "a plane in memory stays with the process that made it: give Dispatch a file to share it"
            )
        self._open()
        assert self._conn is not None
        return self._conn

    def _patiently(self, act: Callable[[], _T]) -> _T:
        """Try again while another connection is in the way: SQLite's own waiting gives up too early."""
        try:
            return act()
        except sqlite3.OperationalError as exc:
            if not faults.is_busy(exc):
                raise
        began, pause = time.monotonic(), _FIRST_PAUSE_S
        while True:
            time.sleep(pause * (0.5 + random.random()))  # noqa: S311 - so that waiters do not move in step
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
            try:
                return act()
            except sqlite3.OperationalError as exc:
                if not faults.is_busy(exc):
                    raise
                waited = time.monotonic() - began
                if waited > PATIENCE_S:
                    raise faults.busy_error(self.path, waited) from exc

    def _listen_by_polling(self) -> Listener:
        return version_poll(self.path)

    def close(self) -> None:
        """Close the connection; further use raises ``DispatchError``."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._conn = None
                self._finalizer()
                if self._spare is not None:
                    self._spare.close()
                self.wakeups.close()

    def after_fork(self) -> None:
        """In a forked child: leave the parent's connection alone, and open another when one is needed."""
        self._lock = threading.RLock()
        self._spare = None  # the parent's: two readers of one socket would take each other's wake-ups
        if self._conn is not None:
            self._finalizer.detach()
            _keep_forever(self._conn)
            self._conn = None


def _identity(path: str) -> tuple[int, int] | None:
    """Tell one file from another of the same name; None for a plane in memory and where there is no file."""
    if path == IN_MEMORY:
        return None
    try:
        found = os.stat(path)  # noqa: PTH116 - before every request
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _begin_snapshot(conn: sqlite3.Connection) -> None:
    conn.execute("BEGIN")
    try:
        conn.execute("SELECT 1 FROM counter").fetchone()
    except BaseException:
        conn.execute("ROLLBACK")
        raise


_opened: weakref.WeakSet[Store] = weakref.WeakSet()


def _keep_forever(conn: sqlite3.Connection) -> None:
    """Keep the parent's connection from being closed here, even at exit.

    Closing rolls back, and so would take back in the shared log what the parent was writing when it forked.
    """
    import ctypes  # noqa: PLC0415 - only a child of a fork needs it

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(conn))


def _after_fork() -> None:
    for store in list(_opened):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
