"""SIGTERM to a replica: what waits is answered empty at once, what is under way is finished, others go on."""

import contextlib
import http.client
import signal
import threading
import time

import fault_bodies as bodies
import msgpack

POLLS = 200
WAITS = {
    "/v1/producer/wait": lambda n: {"topics": dict(CURSORS), "timeout_s": 60},
    "/v1/producer/journal/read": lambda n: {"journal": f"topic:{n}", "timeout_s": 60},
    "/v1/producer/await": lambda n: {"invocation_id": "waiting", "timeout_s": 60},
    "/v1/producer/await-many": lambda n: {"ids": ["waiting"], "timeout_s": 60, "watch": f"watch-{n:04}"},
    "/v1/daemon/poll": lambda n: {"worker_id": f"w{n}", "queue": "idle", "timeout_s": 60},
}
CURSORS = {}
EMPTY = ("entries", "ended", "commands")  # to be woken once too often is no harm


def post(port, path, body):
    """Begin a request, whose answer the connection that is given brings."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", path, msgpack.packb(body), {"Content-Type": "application/msgpack"})
    return connection


class LongPolls:
    """Requests that wait, of every kind, each on a connection of its own."""

    def __init__(self, port, n):
        asked = {"topics": {"work:idle": None}, "timeout_s": 0}
        with contextlib.closing(post(port, "/v1/producer/wait", asked)) as first:
            CURSORS.update(msgpack.unpackb(first.getresponse().read())["cursors"])
        self._open = []
        self.kinds = [list(WAITS)[number % len(WAITS)] for number in range(n)]
        for number, kind in enumerate(self.kinds):
            self._open.append(post(port, kind, WAITS[kind](number)))

    def answers(self):
        """Read every answer: ``[(path, status, body)]``."""
        found = []
        for kind, connection in zip(self.kinds, self._open, strict=True):
            answer = connection.getresponse()
            found.append((kind, answer.status, msgpack.unpackb(answer.read())))
        return found

    def close(self):
        for connection in self._open:
            connection.close()


def open_waits(replica):
    connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=5)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    lines = [line for line in text.splitlines() if line.startswith("lakeshore_open_requests")]
    return float(lines[0].split()[-1])


def test_200_open_long_polls_are_answered_empty_within_2_seconds_of_sigterm(site, redis_url):
    replica = site.replica(redis_url=redis_url)
    plane = site.plane(replica.url)
    plane.submit("paused", b"e", id="waiting")
    polls = site.enter(contextlib.closing(LongPolls(replica.port, POLLS)))
    site.until(lambda: open_waits(replica) > POLLS, "the polls to wait")
    began = time.monotonic()
    replica.terminate()
    answers = polls.answers()
    took_s = time.monotonic() - began
    assert {status for _, status, _ in answers} <= {200, 503}, answers
    for path, status, body in answers:
        if status == 200:
            assert not any(body.get(name) for name in EMPTY), (path, body)
    assert took_s < 2, f"it took {took_s:.1f} s"
    assert replica.wait(5) == 0, replica.log_tail()
    assert "Traceback" not in replica.log_tail()


def test_submits_under_way_are_finished_when_a_replica_stops(site, redis_url):
    """What was answered is there; what was refused as the replica stopped is submitted to the other one."""
    replicas = site.replica(2, redis_url=redis_url)
    front = site.balancer(*replicas)
    queue = site.queue(front.url, timeout=20)
    acknowledged, problems = [], []
    stop = threading.Event()

    def submit():
        try:
            while not stop.is_set():
                acknowledged.extend(queue.submit_many(bodies.double, range(200)))
        except Exception as exc:
            problems.append(exc)

    threads = [threading.Thread(target=submit) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        site.until(lambda: len(acknowledged) >= 1000, "submissions")
        replicas[0].terminate()
        assert replicas[0].wait(12) == 0, replicas[0].log_tail()
        so_far = len(acknowledged)
        site.until(lambda: len(acknowledged) > so_far + 1000, "submissions to the other replica")
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert problems == []
    assert site.witness.rows().keys() >= set(acknowledged)


def test_worker_and_producer_go_on_with_the_other_replica_without_an_error(site, redis_url):
    replicas = site.replica(2, redis_url=redis_url)
    front = site.balancer(*replicas)
    producers = site.crowd(front.url, jobs=300, frames=800)
    for replica in replicas:
        site.until(site.notes, "jobs to run")
        replica.terminate()
        assert replica.wait(12) == 0, replica.log_tail()
        replica.restart()
    rows = site.assert_nothing_lost(producers)
    assert {row["attempt"] for row in rows.values()} == {1}
    for worker in site.programs[:2]:
        worker.send(signal.SIGTERM)
        assert worker.wait(20) == 0
        assert "WARNING" not in worker.output(), worker.tail()
        assert "could not" not in worker.output(), worker.tail()
