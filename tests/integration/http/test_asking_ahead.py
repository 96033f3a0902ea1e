"""A worker asks its control plane for claims ahead: few requests, prompt ends, nothing lost when it takes them back."""

import re
import signal
import time
import urllib.request

import pytest

from dreamlake.lakeshore.errors import InvocationCancelledError

_BODIES = """
import time
from pathlib import Path

def double(n):
    return 2 * n

def ticks(n):
    yield from range(n)

def hold(note):
    Path(note).touch()
    time.sleep(30)
"""


@pytest.fixture
def bodies(tmp_path, monkeypatch):
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "ahead.py").write_text(_BODIES)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("LAKESHORE_PUSH_CODE", "off")
    import ahead

    yield ahead
    monkeypatch.delitem(__import__("sys").modules, "ahead")


def requests(served):
    """How many requests each route has answered."""
    with urllib.request.urlopen(f"{served.url}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.findall(r'lakeshore_request_seconds_count\{route="/v1/([^"]*)",status="200"\} (\S+)', text)
    return {route: float(count) for route, count in found}


def test_a_call_costs_a_worker_one_request(served, bodies):
    served.worker("--concurrency", "1")
    assert served.result(served.queue.submit(bodies.double, 1)) == 2
    before = requests(served)
    assert [served.result(served.queue.submit(bodies.double, n)) for n in range(20)] == [
        2 * n for n in range(20)
    ]
    spent = {route: count - before.get(route, 0) for route, count in requests(served).items()}
    daemon = sum(count for route, count in spent.items() if route.startswith("daemon/"))
    assert daemon <= 30, f"20 calls took {daemon} requests of the worker: {spent}"
    assert not spent.get("producer/wait"), "an idle worker's question waits in the place of its listener"


def test_frames_come_before_the_end_that_could_ride(served, bodies):
    served.worker("--concurrency", "1")
    for _ in range(5):
        assert list(served.queue.stream(served.queue.submit(bodies.ticks, 30), timeout=20)) == [*range(30)]


def test_a_cancel_stops_a_body_that_runs_for_long(served, bodies, tmp_path):
    served.worker("--concurrency", "1")
    note = tmp_path / "note"
    running = served.queue.submit(bodies.hold, str(note))
    served.until(note.exists, "the body runs")
    began = time.monotonic()
    assert served.plane.cancel(running)
    with pytest.raises(InvocationCancelledError):
        served.queue.result(running, 10)
    assert served.result(served.queue.submit(bodies.double, 4), limit=10) == 8, "its place is free again"
    assert time.monotonic() - began < 8


def test_a_worker_that_ends_with_an_open_question_loses_no_job(served, bodies):
    leaving = served.worker("--concurrency", "1")
    served.active()
    assert served.result(served.queue.submit(bodies.double, 2)) == 4
    staying = served.worker("--concurrency", "1")
    served.until(lambda: len(served.plane.workers()) == 2, "both are there")
    leaving.send_signal(signal.SIGTERM)
    ids = [served.queue.submit(bodies.double, n) for n in range(40)]
    assert leaving.wait(15) == 0, served.log()
    began = time.monotonic()
    assert [served.result(inv_id) for inv_id in ids] == [2 * n for n in range(40)]
    assert time.monotonic() - began < 20, "no lease had to run out"
    assert staying.poll() is None


def test_an_idle_worker_with_a_limit_goes_when_its_question_finds_nothing(served, bodies):
    ids = [served.queue.submit(bodies.double, n) for n in range(10)]
    worker = served.worker("--concurrency", "1", "--idle-exit", "1")
    assert [served.result(inv_id) for inv_id in ids] == [2 * n for n in range(10)]
    assert worker.wait(15) == 0, served.log()
    assert served.plane.workers() == []
