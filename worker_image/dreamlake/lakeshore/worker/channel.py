"""Messages between a slot's parent and its child: msgpack values over a stream socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import msgpack

_READ = 1 << 18


class Channel:
    """One end of a socket pair.

    The child's end blocks (``send``). The parent's end never does (``post`` and ``flush``): were both to block
    on a full buffer, each would wait for the other to read.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._unpacker = msgpack.Unpacker(raw=False, max_buffer_size=0, use_list=True)
        self._unsent = bytearray()

    def fileno(self) -> int:
        """Give the descriptor, readable when a message waits."""
        return self._sock.fileno()

    def send(self, message: list[Any]) -> None:
        """Send one message, blocking. Raises ``OSError`` when the other side is gone."""
        self._sock.sendall(msgpack.packb(message, use_bin_type=True))

    def post(self, message: list[Any]) -> None:
        """Send as much as there is room for and keep the rest for ``flush``."""
        self._unsent += msgpack.packb(message, use_bin_type=True)
        self.flush()

    @property
    def has_unsent(self) -> bool:
        """Whether ``flush`` is wanted once the descriptor is writable."""
        return bool(self._unsent)

    def flush(self) -> None:
        """Send what is kept, without blocking. A dead peer is noticed by reading, not here."""
        while self._unsent:
            try:
                sent = self._sock.send(self._unsent, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                self._unsent.clear()
                return
            del self._unsent[:sent]

    def receive(self, *, block: bool = True) -> Iterator[list[Any]]:
        """Read once and yield the messages that are complete. Raises ``EOFError`` at the end of the stream.

        Without ``block``, raises ``BlockingIOError`` when nothing is there to be read.
        """
        try:
            data = self._sock.recv(_READ, 0 if block else socket.MSG_DONTWAIT)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError
        self._unpacker.feed(data)
        yield from self._unpacker

    def close(self) -> None:
        """Close this end."""
        self._sock.close()
