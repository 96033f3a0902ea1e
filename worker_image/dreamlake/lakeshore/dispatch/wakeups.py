"""Wake-ups between processes, and threads, that share a plane: nobody polls while nothing happens.

A waiter binds a datagram socket in a folder that belongs to the database file, named after what it waits for.
Whoever has committed a change sends one byte to each of them. Where such sockets cannot be used, the waiter looks
at the database's change counter instead, often at first and then less so.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from hashlib import blake2s
from pathlib import Path
from typing import Protocol

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.plane import Listener

_ADDRESS_LIMIT = 100
"""Bytes of a socket's path that every system takes (Linux 107, macOS 103)."""
_TOKEN_CHARS = 13
_SLOWEST_POLL_S = 0.05
_FASTEST_POLL_S = 0.001


class Wakeups(Protocol):
    """The two sides of waking up."""

    def listen(self, topic: str) -> Listener:
        """Subscribe to a topic."""

    def notify(self, topics: Iterable[str]) -> None:
        """Wake up everyone who listens to any of these topics. Never blocks, never fails."""

    def close(self) -> None:
        """Free what is held."""


def wait_readable(fd: int, timeout: float) -> bool:
    """Block up to ``timeout`` seconds until ``fd`` is readable."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout) * 1000))


class SocketListener:
    """Listens on a datagram socket of its own; ``path`` is what ``close`` removes."""

    def __init__(self, sock: socket.socket, path: str) -> None:
        self._sock: socket.socket | None = sock
        self._path = path
        self._owner = os.getpid()

    def fileno(self) -> int:
        """Give the socket's descriptor."""
        return self._open().fileno()

    def wait(self, timeout: float) -> bool:
        """Block up to ``timeout`` seconds; True when woken."""
        sock = self._open()
        if not wait_readable(sock.fileno(), timeout):
            return False
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.recv(16)
        return True

    def close(self) -> None:
        """Close the socket and remove its file."""
        sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()
            if self._owner == os.getpid():  # after a fork the parent goes on listening
                with contextlib.suppress(OSError):
                    Path(self._path).unlink()

    def __del__(self) -> None:
        self.close()

    def _open(self) -> socket.socket:
        if self._sock is None:
            raise verdicts.listener_closed()
        return self._sock


class PollingListener:
    """Watches a number that changes with every commit; the fallback where sockets cannot be used."""

    def __init__(self, read_version: Callable[[], int], close: Callable[[], None]) -> None:
        self._read = read_version
        self._close = close
        self._seen = read_version()
        self._pause = _FASTEST_POLL_S

    def fileno(self) -> int:
        """There is no descriptor: -1."""
        return -1

    def wait(self, timeout: float) -> bool:
        """Look at the number, at longer and longer intervals up to 50 ms, for up to ``timeout`` seconds."""
        ends = time.monotonic() + timeout
        while True:
            version = self._read()
            if version != self._seen:
                self._seen, self._pause = version, _FASTEST_POLL_S
                return True
            left = ends - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(self._pause, left))
            self._pause = min(self._pause * 1.5, _SLOWEST_POLL_S)

    def close(self) -> None:
        """Close the connection that was read through."""
        self._close()


class FileWakeups:
    """Wake-ups between all who opened the same file: sockets ``<file>.wake/<topic's token>-<unique>``."""

    def __init__(self, database: str, namespace: str, poll: Callable[[], Listener]) -> None:
        self._folder = os.path.realpath(database) + ".wake"
        self._namespace = namespace
        self._poll = poll
        self._sender = _datagram_socket()
        self._remove_dead()

    def listen(self, topic: str) -> Listener:
        """Bind a socket for the topic, or poll where that cannot be done."""
        name = f"{_token(self._namespace, topic)}-{os.urandom(6).hex()}"
        sock = _datagram_socket()
        try:
            with contextlib.suppress(FileExistsError):
                Path(self._folder).mkdir(mode=0o700)
            with _Addresses(self._folder) as address:
                sock.bind(address(name))
        except OSError:
            sock.close()
            return self._poll()
        return SocketListener(sock, f"{self._folder}/{name}")

    def _remove_dead(self) -> None:
        """Remove the sockets of processes that were killed. Those that live are woken for nothing, which is no harm."""
        with contextlib.suppress(OSError), _Addresses(self._folder) as address:
            for name in os.listdir(self._folder):  # noqa: PTH208 - as below
                self._send(address(name))

    def notify(self, topics: Iterable[str]) -> None:
        """Send a byte to each listener's socket; remove those whose listener is gone."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - thousands of times a second
        except OSError:
            return
        if not names:
            return
        targets = self._listening(names, topics)
        if not targets:
            return
        with contextlib.suppress(OSError), _Addresses(self._folder) as address:
            for name in targets:
                self._send(address(name))

    def _listening(self, names: list[str], topics: Iterable[str]) -> list[str]:
        """Choose the sockets whose topic is among ``topics``.

        A batch of ends has a topic for each journal, and mostly nobody listens to any: then none is hashed.
        """
        heard = {name[0] for name in names}
        tokens = {_token(self._namespace, topic) for topic in topics if topic[0] in heard}
        return [name for name in names if name[:_TOKEN_CHARS] in tokens]

    def _send(self, address: str) -> None:
        try:
            self._sender.sendto(b"!", address)
        except OSError as exc:
            # A full buffer (EAGAIN, ENOBUFS) means that its owner has a wake-up waiting already.
            if exc.errno == errno.ECONNREFUSED:
                with contextlib.suppress(OSError):
                    Path(address).unlink()

    def close(self) -> None:
        """Close the sending socket."""
        self._sender.close()


class _Addresses:
    """Spell socket addresses in a folder; through its descriptor where the path is too long for a socket."""

    def __init__(self, folder: str) -> None:
        self._prefix = folder
        self._fd = -1

    def __enter__(self) -> Callable[[str], str]:
        if len(os.fsencode(self._prefix)) + 2 * _TOKEN_CHARS + 2 > _ADDRESS_LIMIT:
            self._fd = os.open(self._prefix, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._prefix = f"/proc/self/fd/{self._fd}"  # fails where there is no /proc: then the waiters poll
        return lambda name: f"{self._prefix}/{name}"

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class LocalWakeups:
    """Wake-ups between the threads of one process, for a plane in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._senders: dict[str, set[socket.socket]] = {}

    def listen(self, topic: str) -> Listener:
        """Subscribe by a pair of connected sockets."""
        receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.setblocking(False)
        sender.setblocking(False)
        with self._lock:
            self._senders.setdefault(topic, set()).add(sender)
        return _PairListener(receiver, lambda: self._forget(topic, sender))

    def _forget(self, topic: str, sender: socket.socket) -> None:
        with self._lock:
            ours = self._senders.get(topic, set())
            ours.discard(sender)
            if not ours:
                self._senders.pop(topic, None)
        sender.close()

    def notify(self, topics: Iterable[str]) -> None:
        """Send a byte to each listener."""
        if not self._senders:
            return
        with self._lock:
            for topic in topics:
                for sender in self._senders.get(topic, ()):
                    with contextlib.suppress(OSError):
                        sender.send(b"!")

    def close(self) -> None:
        """Nothing is held beyond the listeners."""


class _PairListener(SocketListener):
    def __init__(self, receiver: socket.socket, forget: Callable[[], None]) -> None:
        super().__init__(receiver, "")
        self._forget: Callable[[], None] | None = forget

    def close(self) -> None:
        """Close both ends."""
        sock, self._sock = self._sock, None
        forget, self._forget = self._forget, None
        if sock is not None:
            sock.close()
        if forget is not None:
            forget()


def _token(namespace: str, topic: str) -> str:
    """Name a topic in a socket's file name: its own first letter, then a hash."""
    return topic[0] + blake2s(f"{namespace}\0{topic}".encode(), digest_size=_TOKEN_CHARS // 2).hexdigest()


def _datagram_socket() -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.setblocking(False)
    return sock
