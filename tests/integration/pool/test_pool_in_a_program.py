"""The pool as a part of a program: `ElasticPool` in a thread, as the demo runs it."""

import os
import signal
import threading

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.pool.elastic import ElasticPool
from dreamlake.lakeshore.pool.queue_file import read_queue_file
from dreamlake.lakeshore.worker.stopping import StopSwitch


@pytest.fixture
def run_pool(lake, monkeypatch):
    """``run_pool(elasticity)``: a pool on a plane of its own; ends at the test's end."""
    monkeypatch.setenv("LAKESHORE_HOME", str(lake.home))
    running = []

    def start(elasticity, show=lambda views: None):
        plane, switch, problems = Dispatch(lake.home / "dispatch.sqlite"), StopSwitch(), []
        specs = read_queue_file(lake.queue_file(elasticity))
        pool = ElasticPool(plane, specs, home=lake.home, root=lake.project, switch=switch, show=show)

        def run():
            try:
                pool.run()
            except Exception as exc:
                problems.append(exc)

        thread = threading.Thread(target=run)
        thread.start()
        running.append((plane, switch, thread))
        return plane, switch, thread, problems

    yield start
    for plane, switch, thread in running:
        switch.request(at_least=2)
        thread.join(40)
        assert not thread.is_alive()
        switch.close()
        plane.close()


def test_a_plane_that_does_not_answer_keeps_no_pool_from_ending(lake, run_pool, wait_for, runs, caplog):
    plane, switch, thread, problems = run_pool("{kind: fixed, replicas: 1}")
    (worker,) = wait_for(lambda: lake.workers("active"), "the worker")
    plane.close()
    wait_for(lambda: caplog.records, "the pool to notice")
    switch.request()
    thread.join(40)
    assert not thread.is_alive()
    assert problems == []
    assert not runs(worker.pid)
    (told,) = [record.getMessage() for record in caplog.records if record.name == "lakeshore.pool"]
    assert told.startswith("the plane does not answer, trying again: ")


def test_a_frozen_worker_keeps_no_pool_from_stopping(lake, run_pool, wait_for, runs, monkeypatch):
    monkeypatch.setattr("dreamlake.lakeshore.pool.elastic._LAST_S", 0.5)
    _, switch, thread, problems = run_pool("{kind: fixed, replicas: 1}")
    (worker,) = wait_for(lambda: lake.workers("active"), "the worker")
    os.kill(worker.pid, signal.SIGSTOP)
    switch.request(at_least=2)
    thread.join(40)
    assert not thread.is_alive()
    assert problems == []
    assert not runs(worker.pid)


def test_an_error_in_the_display_leaves_no_worker_behind(lake, run_pool, wait_for, runs):
    pids = []

    def show(views):
        pids.extend(worker.pid for worker in lake.workers("active"))
        if pids:
            raise RuntimeError("the display broke")

    _, _, thread, problems = run_pool("{kind: fixed, replicas: 1}", show)
    thread.join(40)
    assert [str(problem) for problem in problems] == ["the display broke"]
    wait_for(lambda: not runs(pids[0]), "the worker to end")


def test_a_queue_that_is_taken_leaves_the_others_of_the_file_free_and_undeclared(lake):
    taken = lake.up("{kind: fixed, replicas: 0}", name="taken")
    both = lake.folder / "both.yaml"
    files = [lake.queue_file("{kind: fixed, replicas: 0}", name=name) for name in ("free", "taken")]
    both.write_text("---\n".join(file.read_text() for file in files))
    switch = StopSwitch()
    pool = ElasticPool(
        lake.plane, read_queue_file(both), home=lake.home, switch=switch, show=lambda views: None
    )
    with pytest.raises(ConfigError, match=f"queue 'taken' has a pool .* {taken.process.pid}"):
        pool.run()
    switch.close()
    assert lake.plane.queue_record("free") is None
    lake.up("{kind: fixed, replicas: 0}", name="free")
