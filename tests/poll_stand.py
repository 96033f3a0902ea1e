"""Replicas on one set of stores, and workers that poll them byte by byte: answers can be left unread, or cut off."""

import contextlib
import itertools
import re
import socket
import time
import urllib.request
from urllib.parse import urlsplit

import msgpack

from lakeshore_controlplane.clock import PlaneClock
from servers.replica_thread import ReplicaThread

LIMIT_S = 30
_claims = itertools.count()


def until(condition, what, limit=LIMIT_S):
    """Wait for a condition and give its value."""
    ends = time.monotonic() + limit
    while not (value := condition()):
        assert time.monotonic() < ends, f"not within {limit} s: {what}"
        time.sleep(0.002)
    return value


class Request:
    """One request on a connection of its own."""

    def __init__(self, port, path, body):
        data = msgpack.packb(body)
        head = f"POST /v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/msgpack\r\n"
        self._sock = socket.create_connection(("127.0.0.1", port), LIMIT_S)
        try:
            self._sock.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        except OSError:
            self._sock.close()
            raise

    def reply(self, limit=LIMIT_S):
        """Read the answer: its status and value. Raises ``OSError`` when none comes."""
        self._sock.settimeout(limit)
        with self._sock, self._sock.makefile("rb") as file:
            first = file.readline()
            if not first:
                raise ConnectionResetError("no answer came")
            length = 0
            while line := file.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = file.read(length)
            if len(body) < length or not length:
                raise ConnectionResetError("the answer was cut off")
            return int(first.split()[1]), msgpack.unpackb(body)

    def value(self, limit=LIMIT_S):
        """Read an answer of success."""
        status, value = self.reply(limit)
        assert status == 200, value
        return value

    def ran(self, limit=LIMIT_S):
        """Read a poll's answer: the ids and attempts that it hands out."""
        return runs(self.value(limit))

    def cut(self):
        """Be gone, as a process that was killed."""
        self._sock.close()


def runs(answer):
    """What a poll's answer hands out."""
    bodies = [command["body"] for command in answer["commands"] if command["kind"] == "run"]
    return [(body["invocation_id"], body["attempt"]) for body in bodies]


def kinds(answer):
    return [command["kind"] for command in answer["commands"]]


class Site:
    """One replica, and what tests ask it for."""

    def __init__(self, **settings):
        self._replica = ReplicaThread(PlaneClock(), auth="off", **settings)
        self._replica.__enter__()
        self.url = self._replica.url
        self.port = urlsplit(self.url).port
        self.plane = self._replica.plane
        self._begun = []

    def ask(self, path, body):
        return self.begin(path, body).value()

    def begin(self, path, body, port=None):
        """Send a request, to another port where one is given; its connection is closed with this site at last."""
        made = Request(port or self.port, path, body)
        self._begun.append(made)
        return made

    def submit(self, *ids, queue="q", **config):
        items = [
            {"invocation_id": name, "queue": queue, "args_blob": b"e", "run_config": config} for name in ids
        ]
        for answer in self.ask("producer/submit-many", {"items": items})["results"]:
            assert "error" not in answer, answer

    def poll(self, worker="w", *, wait=0.0, port=None, **more):
        """Begin a poll of queue ``q``."""
        asked = {"worker_id": worker, "timeout_s": float(wait), "lease_s": 30.0, **more}
        if "queues" not in asked:
            asked.setdefault("queue", "q")
        return self.begin("daemon/poll", asked, port)

    def waiting_poll(self, worker="w", *, wait=LIMIT_S, **more):
        """Begin a poll, and come back when it waits."""
        before = self.plane.polling.waiting
        poll = self.poll(worker, wait=wait, **more)
        self.until_waiting(before + 1)
        return poll

    def until_waiting(self, count):
        """Wait until so many polls wait."""
        until(lambda: self.plane.polling.waiting == count, f"{count} polls wait")

    def row(self, inv_id):
        return self.ask("producer/get", {"invocation_id": inv_id})["invocation"]

    def brief(self, inv_id):
        row = self.row(inv_id)
        return row["state"], row["attempt"], row["crashes"], row["worker"]

    def ack(self, inv_id, worker="w", attempt=1):
        report = {"invocation_id": inv_id, "attempt": attempt, "state": "succeeded", "result_blob": b"r"}
        return self.begin("daemon/ack", {**report, "worker_id": worker}).reply()[0]

    def polls_answered(self):
        """How many polls the replica is done with, whoever got the answer."""
        found = self.plane.metrics.render().decode()
        counts = re.findall(r'^lakeshore_\w+_count{[^}]*route="/v1/daemon/poll"[^}]*} ([\d.]+)', found, re.M)
        return sum(int(float(count)) for count in counts)

    def order(self, worker, what):
        request = urllib.request.Request(
            f"{self.url}/v1/workers/{worker}/{what}", data=b"{}", headers={"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            assert answer.status == 200

    def hello(self, worker="w"):
        self.ask("daemon/hello", {"worker_id": worker, "queues": ["q"], "state": "active"})

    def queue_state(self, state, queue="q"):
        self.ask(f"producer/queues/{queue}/state", {"state": state})

    def begin_stop(self):
        self._replica._loop.call_soon_threadsafe(self.plane.begin_stop)

    def close(self):
        for request in self._begun:
            request.cut()
        self._replica.__exit__()


def claim_name():
    """A name for a claim that no other has."""
    return f"claim-{next(_claims)}"


@contextlib.contextmanager
def sites(count=1, **settings):
    """Open replicas on the same stores."""
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            opened.append(Site(**settings))
            stack.callback(opened[-1].close)
        yield opened
