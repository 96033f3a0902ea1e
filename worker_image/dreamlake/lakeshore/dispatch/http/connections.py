"""Kept-alive connections to one control plane: made when needed, lent to one thread at a time, used again."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
import weakref
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch.http.answers import Answer, read_answer
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    import ssl

    from dreamlake.lakeshore.dispatch.http.address import Address

CONNECT_S = 5.0
"""Seconds that making a connection may take."""
IDLE_S = 50.0
"""Seconds after which an idle connection is not used again: servers and proxies close theirs after 60 or more."""
_MAX_IDLE = 32


class LostError(Exception):
    """A request without an answer. ``sent``: whether the server may have had all of it, and so may have acted."""

    def __init__(self, reason: OSError, *, sent: bool) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.sent = sent


class TlsError(OSError):
    """No secure connection can be made; ``untrusted``: what is wrong with the certificate, if that is it."""

    def __init__(self, reason: OSError) -> None:
        self.untrusted: str | None = getattr(reason, "verify_message", None)
        super().__init__(str(reason))


class Connection:
    """One connection, for one request after another."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None) -> None:
        """Connect. Raises ``OSError``."""
        self.used = False
        self.idle_since = 0.0
        self._sock = socket.create_connection((address.host, address.port), CONNECT_S)
        try:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                self._sock = _secured(self._sock, tls, address.host)
        except BaseException:
            self._sock.close()
            raise

    def exchange(self, request: bytes, read_s: float) -> Answer:
        """Send a request and read its answer, each read within ``read_s`` seconds. Raises ``LostError``."""
        self._sock.settimeout(read_s)
        try:
            self._sock.sendall(request)
        except OSError as exc:
            # The server lacks the end of the request, so it has not acted; it may have said why it hung up.
            with contextlib.suppress(OSError):
                self._sock.settimeout(1.0)
                return read_answer(self._sock)
            raise LostError(exc, sent=False) from exc
        return self.receive(read_s)

    def send(self, request: bytes, limit_s: float) -> None:
        """Send a request whose answer ``receive`` takes later. Raises ``LostError``: the server has not acted."""
        self._sock.settimeout(limit_s)
        try:
            self._sock.sendall(request)
        except OSError as exc:
            raise LostError(exc, sent=False) from exc

    def receive(self, read_s: float) -> Answer:
        """Read an answer, each read within ``read_s`` seconds. Raises ``LostError``."""
        self._sock.settimeout(read_s)
        try:
            return read_answer(self._sock)
        except OSError as exc:
            raise LostError(exc, sent=True) from exc

    def fileno(self) -> int:
        """Give the descriptor, which becomes readable when an answer begins."""
        return self._sock.fileno()

    def is_stale(self) -> bool:
        """Whether the server hung up meanwhile (or spoke out of turn), or the connection was idle for too long."""
        if time.monotonic() - self.idle_since > IDLE_S:
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def hang_up(self) -> None:
        """End the connection under a thread that waits for an answer on it."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Free the socket."""
        self._sock.close()


class Pool:
    """Connections for any number of threads; the one used last is used first, so that spare ones grow old."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.closed = threading.Event()
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._tls: ssl.SSLContext | None = None
        _opened.add(self)

    def exchange(self, request: bytes, read_s: float, *, repeatable: bool) -> Answer:
        """Send a request and read its answer. Raises ``LostError``, or ``DispatchError`` when closed.

        The loss of a connection that was kept from an earlier request says nothing about the server: the request
        is made again at once on a new one, unless the server may have had it and it is not ``repeatable``.
        """
        connection = self._take()
        while True:
            try:
                answer = connection.exchange(request, read_s)
            except LostError as exc:
                self._drop(connection)
                self._check_open()
                hung_up = connection.used and not isinstance(exc.reason, TimeoutError)
                if not hung_up or (exc.sent and not repeatable):
                    raise
                connection = self._new()
                continue
            except (
                BaseException
            ):  # Ctrl-C: the answer is still to come, and would be taken for the next one's
                self._drop(connection)
                raise
            self._give_back(connection, keep=answer.keep)
            return answer

    def lend(self) -> Connection:
        """Give a new connection for longer than one request; ``close`` hangs up on it too, ``drop`` gives it back.

        Raises ``LostError``, or ``DispatchError`` when closed.
        """
        self._check_open()
        return self._new()

    def drop(self, connection: Connection) -> None:
        """Close a connection that was lent."""
        self._drop(connection)

    def _take(self) -> Connection:
        self._check_open()
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
                if connection is not None:
                    self._busy.add(connection)
            if connection is None:
                return self._new()
            if not connection.is_stale():
                return connection
            self._drop(connection)

    def _new(self) -> Connection:
        try:
            if self.address.tls and self._tls is None:
                import ssl  # noqa: PLC0415 - costs more than all the rest, and plain HTTP does without

                self._tls = ssl.create_default_context()
            connection = Connection(self.address, self._tls)
        except OSError as exc:
            raise LostError(exc, sent=False) from exc
        with self._lock:
            self._busy.add(connection)
        if self.closed.is_set():
            self._drop(connection)
            self._check_open()
        return connection

    def _give_back(self, connection: Connection, *, keep: bool) -> None:
        connection.used = True
        connection.idle_since = time.monotonic()
        with self._lock:
            self._busy.discard(connection)
            kept = keep and not self.closed.is_set()
            if kept:
                self._idle.append(connection)
            spare = [] if kept else [connection]
            if len(self._idle) > _MAX_IDLE:
                spare.append(self._idle.pop(0))
            while self._idle and connection.idle_since - self._idle[0].idle_since > IDLE_S:
                spare.append(self._idle.pop(0))
        for old in spare:
            old.close()

    def _drop(self, connection: Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
        connection.close()

    def _check_open(self) -> None:
        if self.closed.is_set():
            raise DispatchError(f"this plane ({self.address.url}) is closed: open a new HttpDispatch")

    def close(self) -> None:
        """Close all connections, also those that wait for an answer; further use raises ``DispatchError``."""
        self.closed.set()
        with self._lock:
            idle, self._idle = self._idle, []
            for connection in self._busy:
                connection.hang_up()
        for connection in idle:
            connection.close()

    def after_fork(self) -> None:
        """In a forked child: let go of the parent's connections without a word to the server."""
        self._lock = threading.Lock()
        closed = threading.Event()
        if self.closed.is_set():
            closed.set()
        self.closed = closed
        idle, self._idle = [*self._idle, *self._busy], []
        self._busy = set()
        for connection in idle:
            connection.close()


def _secured(sock: socket.socket, tls: ssl.SSLContext, host: str) -> socket.socket:
    try:
        return tls.wrap_socket(sock, server_hostname=host)
    except TimeoutError:
        raise
    except OSError as exc:
        raise TlsError(exc) from exc


_opened: weakref.WeakSet[Pool] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_opened):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
