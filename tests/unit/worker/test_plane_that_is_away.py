"""What a worker keeps of itself while its control plane does not answer: everything."""

import threading
import time

import pytest

import dreamlake.lakeshore as dls
from dreamlake.lakeshore.dispatch.http.plane import HttpDispatch
from dreamlake.lakeshore.worker.counters import Counters
from dreamlake.lakeshore.worker.leases import Leases
from dreamlake.lakeshore.worker.options import WorkerOptions
from http_peer import Peer, error, reply, until


@pytest.fixture
def peer():
    made = Peer()
    made.answer = lambda request: reply(
        {
            "now": 1000.0,
            "cursors": {"work:default": 1},
            "woken": [],
            "commands": [],
            "seconds": None,
            "ok": True,
            "worker_id": "w",
            "drain": False,
        }
    )
    yield made
    made.close()


@pytest.fixture
def plane(peer):
    made = HttpDispatch(peer.url, timeout=0.0)
    yield made
    made.close()


def down(request):
    return error("store_unavailable", 503)


def test_heartbeat_that_gets_no_answer_ends_nothing(peer, plane, tmp_path, caplog):
    leases = Leases(plane, "default", WorkerOptions(root=tmp_path), Counters())
    peer.answer = down
    leases.register("active")
    assert "could not write the worker's record" in caplog.text


def test_worker_in_a_program_outlives_a_control_plane_that_is_away_and_asks_it_gently(peer, plane, tmp_path):
    stop, problems = threading.Event(), []

    def work():
        try:
            dls.run_worker(
                dls.SyncQueue("default", dispatch=plane), root=tmp_path, stop=stop.is_set, poll=0.1
            )
        except BaseException as exc:
            problems.append(exc)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: any("poll" in request.path for request in peer.requests))
    alive, peer.answer = peer.answer, down
    before, began = len(peer.requests), time.monotonic()
    until(lambda: len(peer.requests) > before + 6)
    assert time.monotonic() - began > 0.1, "it asks without a pause"
    peer.answer = alive
    polls = sum("poll" in request.path for request in peer.requests)
    until(lambda: sum("poll" in request.path for request in peer.requests) > polls + 1)
    stop.set()
    thread.join(20)
    assert not thread.is_alive()
    assert problems == []
