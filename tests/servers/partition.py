"""A network between a client and a server on this machine that tests can cut, slow down and heal."""

import contextlib
import socket
import struct
import threading
import time

CHUNK = 65_536


class Direction:
    """One way through the network: open or cut, and how long a chunk takes at least."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.delay_s = 0.0


class Partition:
    """A TCP proxy on ``port`` towards ``target_port``, both on 127.0.0.1: ``with Partition(server.port) as net``.

    Cut, it behaves as a network without a route: what is sent waits, ends of connections too, and nobody is told.
    Healed, what waited arrives. ``reset`` is the other thing that happens to connections: all break at once.
    """

    def __init__(self, target_port):
        self.target_port = target_port
        self.to_server = Direction()
        self.to_client = Direction()
        self._closed = False
        self._guard = threading.Lock()
        self._pairs = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def cut(self):
        """Nothing passes, either way."""
        self.to_server.open.clear()
        self.to_client.open.clear()

    def cut_towards_server(self):
        """Requests get lost; what the server sends still arrives."""
        self.to_server.open.clear()

    def cut_towards_client(self):
        """Requests are carried out; their answers get lost."""
        self.to_client.open.clear()

    def heal(self):
        """Everything passes again, what waited first."""
        self.to_server.open.set()
        self.to_client.open.set()

    def delay(self, seconds):
        """Each way takes at least this long from now on."""
        self.to_server.delay_s = self.to_client.delay_s = seconds

    def reset(self):
        """Break all connections that are open, on both sides, with what is under way in them."""
        with self._guard:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for side in pair:
                break_connection(side)

    @property
    def connections(self):
        """How many connections pass through it."""
        with self._guard:
            return len(self._pairs)

    def close(self):
        """Break what is open and end all threads; safe to call twice."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.reset()
        self.heal()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), "waited 10 s for the proxy's thread to end"

    def reach(self):
        """Connect to the server. Raises ``OSError``."""
        return socket.create_connection(("127.0.0.1", self.target_port), 10)

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._connect, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _connect(self, client):
        """Carry one connection: this thread towards the server, another back."""
        self._pass(self.to_server)
        try:
            server = self.reach()
        except OSError:
            break_connection(client)
            client.close()
            return
        server.settimeout(None)
        pair = (client, server)
        with self._guard:
            self._pairs.add(pair)
        if self._closed:
            self.reset()
        back = threading.Thread(target=self._carry, args=(server, client, self.to_client), daemon=True)
        back.start()
        self._carry(client, server, self.to_server)
        back.join()
        with self._guard:
            self._pairs.discard(pair)
        client.close()
        server.close()

    def _carry(self, source, sink, direction):
        """Copy bytes until the source ends; its end is passed on like them."""
        with contextlib.suppress(OSError):
            while chunk := source.recv(CHUNK):
                self._pass(direction)
                sink.sendall(chunk)
            self._pass(direction)
            sink.shutdown(socket.SHUT_WR)
            return
        for side in (source, sink):
            break_connection(side)

    def _pass(self, direction):
        """Wait for as long as this direction takes now."""
        time.sleep(direction.delay_s)
        direction.open.wait()


def break_connection(side):
    """End a connection at once as a reset, whoever reads from it meanwhile."""
    with contextlib.suppress(OSError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with contextlib.suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
