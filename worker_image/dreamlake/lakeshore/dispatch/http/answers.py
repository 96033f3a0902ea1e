"""Reading one HTTP/1.1 answer from a socket.

The standard library's reader takes a mail parser to the headers and costs more than the whole rest of a request;
this one knows what servers send to a client that asks for nothing unusual.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

MAX_ANSWER_BYTES = 1 << 30
"""Bytes of one answer; a server that sends more is not believed."""
_MAX_HEAD_BYTES = 64 << 10
_READ = 64 << 10


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (names in lower case) and body; ``keep``: whether the connection can be used again."""

    status: int
    headers: dict[str, str]
    body: bytes
    keep: bool


class GarbledError(OSError):
    """What came is not an HTTP answer, or ended in the middle of one."""


def read_answer(sock: socket.socket) -> Answer:
    """Read one answer. Raises ``OSError``: ``GarbledError``, a timeout, a lost connection."""
    reader = _Reader(sock)
    while True:
        version, status, headers = _head(reader)
        if status >= 200:  # those below announce the answer proper
            break
    if status in (204, 304):
        body, delimited = b"", True
    elif "chunked" in headers.get("transfer-encoding", "").lower():
        body, delimited = _chunks(reader), True
    elif "content-length" in headers:
        body, delimited = reader.exactly(_size(headers["content-length"], 10)), True
    else:
        body, delimited = reader.rest(), False
    keep = delimited and version == b"HTTP/1.1" and headers.get("connection", "").lower() != "close"
    return Answer(status, headers, body, keep and reader.is_empty)


class _Reader:
    """Bytes of a socket, by lines and by counts."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._have = bytearray()

    @property
    def is_empty(self) -> bool:
        return not self._have

    def until(self, mark: bytes, limit: int) -> bytes:
        """Take what stands before ``mark``, and the mark with it."""
        searched = 0
        while (found := self._have.find(mark, searched)) < 0:
            if len(self._have) > limit:
                raise GarbledError("its head is too long for an HTTP answer")
            searched = max(0, len(self._have) - len(mark) + 1)
            self._more(_READ)
        taken = bytes(self._have[:found])
        del self._have[: found + len(mark)]
        return taken

    def exactly(self, count: int) -> bytes:
        if len(self._have) < count <= _READ:
            self._fill(count)
        if len(self._have) >= count:
            taken = bytes(self._have[:count])
            del self._have[:count]
            return taken
        parts, left = [bytes(self._have)], count - len(self._have)
        self._have.clear()
        while left:  # as it comes: a claimed size reserves no memory
            data = self._recv(min(left, 1 << 20))
            parts.append(data)
            left -= len(data)
        return b"".join(parts)

    def rest(self) -> bytes:
        while data := self._sock.recv(_READ):
            self._have += data
            if len(self._have) > MAX_ANSWER_BYTES:
                raise GarbledError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        taken = bytes(self._have)
        self._have.clear()
        return taken

    def _fill(self, count: int) -> None:
        while len(self._have) < count:
            self._more(_READ)

    def _more(self, most: int) -> None:
        self._have += self._recv(most)

    def _recv(self, most: int) -> bytes:
        data = self._sock.recv(most)
        if not data:
            raise GarbledError("the connection was closed before the whole answer had come")
        return data


def _head(reader: _Reader) -> tuple[bytes, int, dict[str, str]]:
    first, *lines = reader.until(b"\r\n\r\n", _MAX_HEAD_BYTES).split(b"\r\n")
    version, _, rest = first.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise GarbledError("what answers there does not speak HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise GarbledError("a header of the answer is broken")
        headers[name.lower()] = value.strip()
    return version, int(rest[:3]), headers


def _chunks(reader: _Reader) -> bytes:
    parts: list[bytes] = []
    total = 0
    while size := _size(reader.until(b"\r\n", 1024).partition(b";")[0].decode("latin-1"), 16):
        total += size
        if total > MAX_ANSWER_BYTES:
            raise GarbledError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        parts.append(reader.exactly(size))
        if reader.exactly(2) != b"\r\n":
            raise GarbledError("a chunk of the answer is broken")
    while reader.until(b"\r\n", _MAX_HEAD_BYTES):
        pass  # trailers say nothing that we need
    return b"".join(parts)


def _size(text: str, base: int) -> int:
    try:
        size = int(text, base)
    except ValueError as exc:
        raise GarbledError("a size in the answer is broken") from exc
    if not 0 <= size <= MAX_ANSWER_BYTES:
        raise GarbledError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
    return size
