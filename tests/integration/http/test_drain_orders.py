"""A worker that its control plane drains goes as on SIGTERM: what runs ends, nothing starts."""

import json
import threading
import time
import urllib.request

import pytest

import dreamlake.lakeshore as dls

_BODIES = """
import time
from pathlib import Path

def hold(note, release):
    Path(note).touch()
    ends = time.monotonic() + 30
    while not Path(release).exists():
        assert time.monotonic() < ends
        time.sleep(0.01)
    return "done"

def quick():
    return "quick"
"""


def order(site, worker_id, what="drain"):
    request = urllib.request.Request(
        f"{site.url}/v1/workers/{worker_id}/{what}", data=b"{}", headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


@pytest.fixture
def bodies(served, tmp_path, monkeypatch):
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "held.py").write_text(_BODIES)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("LAKESHORE_PUSH_CODE", "off")
    import held

    yield held
    monkeypatch.delitem(__import__("sys").modules, "held")


@pytest.mark.parametrize("how", [[], ["--in-process"]])
def test_an_idle_worker_goes_within_seconds(served, how):
    process = served.worker(*how)
    order(served, served.active().id)
    began = time.monotonic()
    assert process.wait(10) == 0, served.log()
    assert time.monotonic() - began < 4
    assert served.plane.workers() == []


@pytest.mark.parametrize("how", [["--concurrency", "1"], ["--in-process"]])
def test_what_runs_ends_and_nothing_starts(served, bodies, tmp_path, how):
    process = served.worker(*how)
    worker_id = served.active().id
    note, release = tmp_path / "note", tmp_path / "release"
    running = served.queue.submit(bodies.hold, str(note), str(release))
    served.until(note.exists, "the body runs")
    waiting = served.queue.submit(bodies.quick)
    order(served, worker_id)
    served.until(lambda: served.plane.workers()[0].state == "draining", "the worker drains")
    release.touch()
    assert process.wait(10) == 0, served.log()
    assert served.result(running) == "done"
    assert served.plane.get(waiting)["state"] == "queued"


def test_the_worker_of_this_process_goes_too(served):
    ran = []
    thread = threading.Thread(target=lambda: ran.append(dls.run_worker(served.queue)))
    thread.start()
    order(served, served.active().id)
    thread.join(10)
    assert ran == [0]


def test_the_others_of_the_queue_stay(served):
    processes = [served.worker(), served.worker()]
    served.until(
        lambda: sum(known.state == "active" for known in served.plane.workers()) == 2, "both are active"
    )
    known = {record.pid: record.id for record in served.plane.workers()}
    order(served, known[processes[0].pid])
    assert processes[0].wait(10) == 0
    assert processes[1].poll() is None
    assert [record.pid for record in served.plane.workers()] == [processes[1].pid]
