"""A server that says what it is told to say, byte by byte where that matters, and notes what it was asked."""

import contextlib
import gzip
import socket
import threading
import time
from dataclasses import dataclass

import msgpack

LIMIT_S = 20


def until(condition):
    """Wait until ``condition()`` holds."""
    ends = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < ends, "it did not come to this"
        time.sleep(0.005)


@dataclass
class Request:
    method: str
    path: str
    headers: dict
    raw: bytes
    connection: int

    @property
    def body(self):
        data = gzip.decompress(self.raw) if self.headers.get("content-encoding") == "gzip" else self.raw
        return msgpack.unpackb(data, unicode_errors="surrogatepass")


def reply(body=None, status=200, headers=(), kind="application/msgpack"):
    """The bytes of an answer; ``body`` is packed unless it is bytes."""
    data = body if isinstance(body, bytes) else msgpack.packb(body, unicode_errors="surrogatepass")
    lines = [f"HTTP/1.1 {status} Words", f"content-type: {kind}", f"content-length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def error(kind, status, message="it is so", **more):
    headers = [f"retry-after: {more.pop('after')}"] if "after" in more else []
    return reply({"error": {"type": kind, "message": message, **more}}, status, headers)


class Peer:
    """``answer(request)`` gives bytes to send, None to hang up, or ``HANG`` to stay silent."""

    HANG = object()

    def __init__(self, port=0, tls=None):
        self._tls = tls
        self.requests = []
        self.connections = 0
        self.hang_up_after_answer = False
        self.answer = lambda request: reply({})
        self._server = socket.create_server(("127.0.0.1", port))
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.getsockname()[1]}"
        self._open = set()
        self._threads = []
        self._start(self._accept)

    def script(self, *answers):
        """Give these in turn, the last one for ever."""
        left = list(answers)
        self.answer = lambda request: left.pop(0) if len(left) > 1 else left[0]

    def _start(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(sock)
            self._start(self._serve, sock, self.connections)

    def _serve(self, sock, number):
        if self._tls is not None:
            plain = sock
            try:
                sock = self._tls.wrap_socket(plain, server_side=True)
            except OSError:
                plain.close()
                return
            self._open.add(sock)
        with contextlib.suppress(OSError, ValueError), sock, sock.makefile("rb") as file:
            while request := self._read(file, number):
                self.requests.append(request)
                said = self.answer(request)
                if said is Peer.HANG:
                    sock.recv(1)
                    return
                if said is None:
                    return
                sock.sendall(said)
                if self.hang_up_after_answer:
                    return
        self._open.discard(sock)

    @staticmethod
    def _read(file, number):
        first = file.readline().decode()
        if not first:
            return None
        headers = {}
        while line := file.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        method, path, _ = first.split(" ")
        return Request(method, path, headers, file.read(int(headers.get("content-length", 0))), number)

    def hang_up(self):
        """Close what is open, and take no new connections."""
        for end in (self._server, *self._open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self):
        self.hang_up()
        for thread in self._threads:
            thread.join(LIMIT_S)
