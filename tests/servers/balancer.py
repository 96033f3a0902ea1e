"""One address in front of several servers of one port each: what a load balancer or a Kubernetes Service is."""

import itertools
import socket

from servers.partition import Partition


class Balancer(Partition):
    """A TCP proxy whose connections go to its targets in turn; a target that takes none is passed over."""

    def __init__(self, *target_ports):
        self._turns = itertools.cycle(range(len(target_ports)))
        self._target_ports = target_ports
        super().__init__(target_ports[0])

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def reach(self):
        """Connect to the next target that lives. Raises ``OSError`` when none does."""
        first = next(self._turns)
        ports = self._target_ports[first:] + self._target_ports[:first]
        for port in ports[:-1]:
            try:
                return socket.create_connection(("127.0.0.1", port), 2)
            except OSError:
                continue
        return socket.create_connection(("127.0.0.1", ports[-1]), 2)
