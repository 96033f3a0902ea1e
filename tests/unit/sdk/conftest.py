"""A plane in memory, and workers on it: real ones, in threads of the test's process."""

import threading

import pytest

import dreamlake.lakeshore as dls


@pytest.fixture
def plane():
    opened = dls.Dispatch(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def work_on(tmp_path):
    """Give ``work_on(plane, queue_name, **options)``: start a worker that is stopped at the test's end."""
    stop = threading.Event()
    threads = []
    problems = []

    def start(plane, name, **options):
        def loop():
            try:
                dls.run_worker(
                    dls.SyncQueue(name, dispatch=plane), root=tmp_path, stop=stop.is_set, **options
                )
            except BaseException as exc:
                problems.append(exc)

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        threads.append(thread)

    yield start
    stop.set()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a worker did not stop within 20 s"
    assert problems == []
