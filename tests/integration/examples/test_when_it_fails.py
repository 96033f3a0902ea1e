"""The failure table of a first queue-bound function: each symptom by its words, with what to do next."""

import os
import subprocess
import sys

import pytest

from dreamlake.lakeshore import Dispatch, DispatchError, SyncQueue, run_worker, udf

BODIES = """\
import dreamlake.lakeshore as dls

@dls.udf(queue="hello", retries=0)
def boom(): raise ValueError("no such scene")

@dls.udf(queue="hello", retries=0)
def fine(): return 5
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A module of bodies that this process can import, and workers only where they are started in its folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "hello_bodies.py").write_text(BODIES)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("hello_bodies", None)


@pytest.fixture
def queue(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    plane = Dispatch(home / "dispatch.sqlite")
    yield SyncQueue("hello", dispatch=plane)
    plane.close()


def work_once(home, folder):
    """Let a real worker run one job of the plane under ``home``, started in ``folder``."""
    done = subprocess.run(
        [sys.executable, "-m", "dreamlake.lakeshore.daemon", "--queue", "hello", "--once"],
        env={**os.environ, "LAKESHORE_HOME": str(home), "PYTHONPATH": ""},
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_without_a_worker_the_wait_says_which_one_to_start(project, queue):
    from hello_bodies import fine

    inv = queue.submit(fine)
    with pytest.raises(TimeoutError) as caught:
        queue.result(inv, timeout=0.2)
    assert str(caught.value).startswith(f"invocation {inv} still 'queued' after 0.2s")
    assert "lakeshore worker start --queue hello" in str(caught.value)


def test_a_worker_on_another_plane_is_as_good_as_none_and_the_wait_says_what_to_compare(
    project, queue, tmp_path
):
    from hello_bodies import fine

    inv = queue.submit(fine)
    work_once(tmp_path / "another-home", project)
    with pytest.raises(TimeoutError, match=r"still 'queued' after 0.2s.*the same LAKESHORE_HOME"):
        queue.result(inv, timeout=0.2)
    work_once(tmp_path / "home", project)
    assert queue.result(inv) == 5


def test_what_the_body_raised_is_in_the_dispatch_error(project, queue, tmp_path):
    from hello_bodies import boom

    inv = queue.submit(boom)
    work_once(tmp_path / "home", project)
    with pytest.raises(DispatchError, match=rf"^invocation {inv} failed: ValueError: no such scene$"):
        queue.result(inv)


def test_a_worker_that_cannot_import_the_module_says_so_and_where_to_start_it(project, queue, tmp_path):
    from hello_bodies import fine

    inv = queue.submit(fine)
    work_once(tmp_path / "home", tmp_path)
    with pytest.raises(DispatchError, match=r"WorkerError: cannot import module 'hello_bodies'.*registry="):
        queue.result(inv)


def test_a_worker_that_takes_no_pickled_functions_says_so_and_how_to_allow_them(queue):
    inv = udf(lambda: 5, queue=queue, retries=0).submit()
    assert run_worker(queue, once=True, allow_pickled=False) == 1
    with pytest.raises(
        DispatchError, match=r"TransportError: this worker refuses pickled functions.*--allow-pickled"
    ):
        queue.result(inv)
