"""Redis or Valkey, with a file of its own so that it comes back with what it held."""

import socket

from servers.process import ServerProcess, find_program


class LaneServer(ServerProcess):
    name = "the lane server"
    ready = (b"Ready to accept connections",)

    def command(self):
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.data),
            "appendonly": "yes",
            "appendfsync": "no",  # the system's memory outlives a kill -9; only the machine's end would matter
            "save": "",
        }
        words = [word for name, value in settings.items() for word in (f"--{name}", value)]
        return [find_program("redis-server", "valkey-server"), *words]

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(100) == b"+PONG\r\n"
        except OSError:
            return False

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"
