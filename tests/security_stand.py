"""A replica with two tenants, and a caller that sends it exactly what a test says, however odd."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from contextlib import closing, contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

import msgpack

from hand_clock import HandClock
from lakeshore_controlplane.documents import SCOPES
from servers.replica_thread import ReplicaThread

MSGPACK, JSON = "application/msgpack", "application/json"
ROOT = "dlk_root-of-the-tests-" + "r" * 24
TENANTS = ("red", "blue")
LIMIT_S = 30


class Answer(NamedTuple):
    """What came back. ``value``: the body decoded by its own content type; raw bytes where it has another one."""

    status: int
    headers: dict
    body: bytes

    @property
    def value(self):
        media = self.headers.get("content-type", "")
        if media.startswith(JSON):
            return json.loads(self.body)
        if media.startswith(MSGPACK):
            return msgpack.unpackb(self.body, unicode_errors="surrogatepass")
        return self.body

    @property
    def error(self):
        """The error's type; None for an answer that is none."""
        return self.value["error"]["type"] if isinstance(self.value, dict) and "error" in self.value else None


def check(answer, sent):
    """A refusal has the contract's form; there is no other kind of failure."""
    assert answer.status < 500, (sent, answer)
    if answer.status >= 400:
        error = answer.value["error"]
        assert set(error) <= {"type", "message", "hint", "retry_after_s"}, (sent, answer)
        assert isinstance(error["type"], str)
        assert 0 < len(error["message"]) < 2000
    return answer


class Caller:
    """Sends requests on one connection, which is made anew where the server closed it."""

    def __init__(self, url, token=None):
        self.address = urlsplit(url)
        self.token = token
        self._connection = None

    def send(self, method, target, body=None, headers=()):
        """Send ``body`` (bytes) as it is; the token goes along unless ``headers`` has its own."""
        sent = {"Accept": JSON, **dict(headers)}
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        for fresh in (self._connection is None, True):
            if fresh:
                self.close()
                self._connection = http.client.HTTPConnection(
                    self.address.hostname, self.address.port, timeout=LIMIT_S
                )
            try:
                return self._once(method, target, body, sent)
            except (ConnectionError, http.client.BadStatusLine):
                self.close()
                if fresh:
                    raise
        raise AssertionError("not reached")

    def _once(self, method, target, body, headers):
        self._connection.request(method, target, body=body, headers=headers)
        answer = self._connection.getresponse()
        data = answer.read()
        found = {name.lower(): value for name, value in answer.getheaders()}
        if answer.will_close:
            self.close()
        return Answer(answer.status, found, data)

    def post(self, target, value, method="POST", **headers):
        """Send a value as msgpack."""
        body = msgpack.packb(value, unicode_errors="surrogatepass")
        return self.send(method, target, body, {"Content-Type": MSGPACK, **headers})

    def post_json(self, target, value, method="POST", **headers):
        """Send a value as JSON."""
        return self.send(method, target, json.dumps(value).encode(), {"Content-Type": JSON, **headers})

    def get(self, target, **headers):
        return self.send("GET", target, headers=headers)

    def raw(self, data, wait_s=LIMIT_S):
        """Send bytes on a connection of their own and give all that comes until the server closes it."""
        with closing(socket.create_connection((self.address.hostname, self.address.port), wait_s)) as line:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            found = b""
            while more := line.recv(65536):
                found += more
            return found

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Stand:
    """A replica, a caller for each tenant and scope, and tokens that are no longer good."""

    def __init__(self, clock, replica):
        self.clock = clock
        self.replica = replica
        self.url = replica.url
        self.root = Caller(self.url, ROOT)
        self.stranger = Caller(self.url)
        self._callers = {}
        for tenant in TENANTS:
            assert self.root.post_json("/v1/namespaces", {"name": tenant}).status == 200
            for scope in SCOPES:
                self._callers[tenant, scope] = Caller(self.url, self.make_token(tenant, scope)["token"])
        ending = self.make_token("red", *SCOPES, expires_in_s=60)
        clock.advance(61)
        self.expired = ending["token"]
        revoked = self.make_token("red", *SCOPES)
        assert self.root.send("DELETE", f"/v1/namespaces/red/tokens/{revoked['id']}").status == 200
        self.revoked = revoked["token"]

    def make_token(self, tenant, *scopes, **options):
        body = {"name": "-".join(scopes), "scopes": list(scopes), **options}
        return self.root.post_json(f"/v1/namespaces/{tenant}/tokens", body).value

    def of(self, tenant, scope):
        """The caller of a tenant with one scope."""
        return self._callers[tenant, scope]

    def close(self):
        for caller in (self.root, self.stranger, *self._callers.values()):
            caller.close()


def opened(document_server, database, **settings):
    """Start a stand: ``with opened(...) as stand``."""
    clock = HandClock()
    return _Opened(
        clock,
        ReplicaThread(
            clock,
            mongo_url=document_server.url,
            mongo_database=database,
            bootstrap_token=ROOT,
            longest_wait_s=0.2,
            **settings,
        ),
    )


class _Opened:
    def __init__(self, clock, replica):
        self._clock, self._replica = clock, replica

    def __enter__(self):
        self._stand = Stand(self._clock, self._replica.__enter__())
        return self._stand

    def __exit__(self, *error):
        self._stand.close()
        self._replica.__exit__(*error)


@contextmanager
def replica_process(document_server, tmp_path, **env):
    """A replica as a process of its own, with its log in a file: (caller, pid, log)."""
    import pymongo

    name, log = f"test_{uuid.uuid4().hex}", tmp_path / "log"
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "LAKESHORE_PORT": str(port),
        "LAKESHORE_MONGO_URL": document_server.url,
        "LAKESHORE_MONGO_DATABASE": name,
        "LAKESHORE_BOOTSTRAP_TOKEN": ROOT,
        **env,
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "lakeshore_controlplane"], env=environment, stdout=out, stderr=out
        )
    caller = Caller(f"http://127.0.0.1:{port}", ROOT)
    try:
        until_it_answers(caller, log)
        yield caller, process.pid, log
    finally:
        caller.close()
        process.terminate()
        process.wait(20)
        with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
            client.drop_database(name)


def until_it_answers(caller, log, limit_s=20):
    ends = time.monotonic() + limit_s
    while True:
        try:
            if caller.get("/healthz").status == 200:
                return
        except OSError:
            assert time.monotonic() < ends, f"the replica did not start: {log.read_text()[-2000:]}"
            time.sleep(0.05)
