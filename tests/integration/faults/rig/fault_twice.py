"""A proxy that delivers every POST twice, as networks and impatient proxies do, and gives one of the answers."""

import socket
import threading


class Twice:
    """``with Twice(port, first=...) as between``: of two answers the client gets the first, or else the second."""

    def __init__(self, target_port, *, first):
        self._target_port = target_port
        self._first = first
        self._closed = False
        self._guard = threading.Lock()
        self._sockets = set()
        self.doubled = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, name="twice")]
        self._threads[0].start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closed = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._guard:
            for sock in self._sockets:
                _hang_up(sock)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), "waited 10 s for the proxy's thread to end"

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), name="twice")
            self._threads.append(thread)
            thread.start()

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self._target_port), 10)
        server.settimeout(None)
        with self._guard:
            self._sockets |= {client, server}
        with client, server, client.makefile("rb") as asked, server.makefile("rb") as answered:
            try:
                while not self._closed and (request := _message(asked)):
                    client.sendall(self._exchange(server, answered, request))
            except (OSError, EOFError):
                pass
            finally:
                with self._guard:
                    self._sockets -= {client, server}

    def _exchange(self, server, answered, request):
        times = 2 if request.startswith(b"POST") else 1
        self.doubled += times - 1
        answers = []
        for _ in range(times):
            server.sendall(request)
            answer = _message(answered)
            if not answer:
                raise EOFError
            answers.append(answer)
        return answers[0] if self._first else answers[-1]


def _message(file):
    """Read one request or answer of HTTP/1.1 that says its length; empty at the end."""
    head = b""
    length = 0
    while line := file.readline():
        head += line
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        if line == b"\r\n":
            return head + file.read(length)
    return b""


def _hang_up(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
