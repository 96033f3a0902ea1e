"""What a replica weighs while very many clients wait on it."""

from __future__ import annotations

import contextlib
import resource
import selectors
import socket
import time
from urllib.parse import urlsplit

import msgpack

from yardstick.processes import rss_mib
from yardstick.served import Replica

_CONNECT_S = 10.0
_QUIET_S = 3.0
_AT_A_TIME = 200


def crowded_mib(replica: Replica, polls: int, queue: str = "crowd") -> float:
    """Give the replica's resident MiB while ``polls`` workers wait for work of an empty queue, each by one long poll.

    Raises ``RuntimeError`` when one of them is answered, or may not be opened.
    """
    with contextlib.ExitStack() as stack:
        _raise_limit(polls + 200)
        waiting = selectors.DefaultSelector()
        stack.callback(waiting.close)
        for number in range(polls):
            connection = _poll(replica, f"crowd-{number:06d}", queue)
            stack.callback(connection.close)
            waiting.register(connection, selectors.EVENT_READ)
            if number % _AT_A_TIME == 0 and waiting.select(0):
                raise RuntimeError(f"a long poll was answered while {number} were open")
        time.sleep(_QUIET_S)
        if waiting.select(0):
            raise RuntimeError(f"a long poll was answered while {polls} were open")
        return rss_mib(replica.pid)


def _poll(replica: Replica, worker_id: str, queue: str) -> socket.socket:
    where = urlsplit(replica.url)
    body = msgpack.packb({"worker_id": worker_id, "queue": queue, "max": 1, "timeout_s": 110.0})
    head = (
        f"POST /v1/daemon/poll HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/msgpack\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection = socket.create_connection((where.hostname or "", where.port or 80), _CONNECT_S)
    connection.sendall(head.encode() + body)
    return connection


def _raise_limit(descriptors: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < descriptors:
        if hard != resource.RLIM_INFINITY and hard < descriptors:
            raise RuntimeError(f"{descriptors} open files are not allowed here (ulimit -Hn: {hard})")
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))
