"""Wake-ups through a file's folder: sockets, dead ones, long paths, and polling where none can be."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.wakeups import PollingListener

LIMIT_S = 20


def sockets(path):
    folder = path.with_name(path.name + ".wake")
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_listener_has_a_socket_while_it_is_open(plane, path):
    listener = plane.listen("done")
    (found,) = sockets(path)
    assert found.is_socket()
    assert found.parent.stat().st_mode & 0o077 == 0
    listener.close()
    assert sockets(path) == []


def test_the_socket_of_a_killed_process_is_removed_at_the_next_wake_up(plane, path):
    script = (
        "import os, sys\n"
        "from dreamlake.lakeshore.dispatch import Dispatch\n"
        f"plane = Dispatch({str(path)!r})\n"
        "listener = plane.listen('work:q')\n"
        "print('ready', flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert len(sockets(path)) == 1
    listener = plane.listen("work:q")
    plane.submit("q", b"e", id="a")
    assert listener.wait(LIMIT_S)
    assert len(sockets(path)) == 1
    listener.close()


def test_the_socket_of_a_killed_process_is_removed_when_the_file_is_opened(open_plane, path):
    script = (
        "import os\n"
        "from dreamlake.lakeshore.dispatch import Dispatch\n"
        f"listener = Dispatch({str(path)!r}).listen('journal:nobody-else-waits-for-this')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert len(sockets(path)) == 1
    living = open_plane().listen("work:q")
    open_plane()
    assert len(sockets(path)) == 1
    living.close()


def test_waits_for_results_share_one_socket_which_goes_with_the_plane(open_plane, path):
    plane = open_plane()
    for n in range(3):
        plane.submit("q", b"e", id=f"i{n}")
        plane.claim("q", "w")
        plane.ack(f"i{n}", "w", result=b"r")
        assert plane.result(f"i{n}", timeout=LIMIT_S) == b"r"
        assert len(sockets(path)) == 1
    plane.close()
    assert sockets(path) == []


def test_a_forked_child_does_not_take_its_parents_wake_ups(path):
    # In a process of its own: a fork of the test runner would take its threads' locks along.
    script = (
        "import os, threading\n"
        "from dreamlake.lakeshore.dispatch import Dispatch\n"
        f"plane = Dispatch({str(path)!r})\n"
        "plane.submit('q', b'e', id='first')\n"
        "plane.claim('q', 'w'); plane.ack('first', 'w', result=b'r')\n"
        "plane.result('first')\n"
        "if os.fork() == 0:\n"
        "    plane.submit('q', b'e', id='second'); plane.claim('q', 'w')\n"
        "    threading.Timer(0.3, lambda: plane.ack('second', 'w', result=b'child')).start()\n"
        "    os._exit(0 if plane.result('second', timeout=20) == b'child' else 3)\n"
        "assert os.waitstatus_to_exitcode(os.wait()[1]) == 0\n"
        "assert plane.result('second', timeout=20) == b'child'\n"
        "plane.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], timeout=60, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_another_process_is_woken(plane, path):
    script = (
        "from dreamlake.lakeshore.dispatch import Dispatch\n"
        f"plane = Dispatch({str(path)!r})\n"
        "listener = plane.listen('work:q')\n"
        "print('ready', flush=True)\n"
        f"print(listener.wait({LIMIT_S}), plane.claim('q', 'w').id, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        plane.submit("q", b"e", id="a")
        assert child.stdout.readline() == "True a\n"


def test_a_path_too_long_for_a_socket_works_all_the_same(tmp_path, clock):
    folder = tmp_path / ("long" * 30) / ("name" * 30)
    folder.mkdir(parents=True)
    path = folder / "dispatch.sqlite"
    one, two = Dispatch(path, _clock=clock), Dispatch(path, _clock=clock)
    listener = one.listen("work:q")
    assert listener.fileno() >= 0
    two.submit("q", b"e", id="a")
    assert listener.wait(LIMIT_S)
    assert not listener.wait(0)
    listener.close()
    assert sockets(path) == []
    one.close()
    two.close()


def test_paths_to_the_same_file_wake_each_other(tmp_path, clock):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    one = Dispatch(tmp_path / "real" / "d.sqlite", _clock=clock)
    two = Dispatch(tmp_path / "link" / "d.sqlite", _clock=clock)
    listener = one.listen("done")
    two.submit("q", b"e", id="a")
    two.cancel("a")
    assert listener.wait(LIMIT_S)
    listener.close()
    one.close()
    two.close()


@pytest.fixture
def without_sockets(path):
    """A file in the place of the folder for sockets: none can be bound there."""
    path.with_name(path.name + ".wake").write_text("in the way")


def test_where_no_socket_can_be_the_database_is_watched(without_sockets, open_plane):
    one, two = open_plane(), open_plane()
    listener = one.listen("work:q")
    assert isinstance(listener, PollingListener)
    assert listener.fileno() == -1
    assert not listener.wait(0.01)
    timer = threading.Timer(0.05, lambda: two.submit("q", b"e", id="a"))
    timer.start()
    began = time.monotonic()
    assert listener.wait(LIMIT_S)
    assert time.monotonic() - began < LIMIT_S / 2
    timer.join()
    one.submit("q", b"e", id="b")  # its own process's change counts as well
    assert listener.wait(LIMIT_S)
    assert not listener.wait(0)
    listener.close()


def test_where_no_socket_can_be_results_and_streams_arrive_all_the_same(without_sockets, open_plane):
    one, two = open_plane(), open_plane()
    one.submit("q", b"e", id="a")
    two.claim("q", "w")

    def finish():
        two.journal_append("a", 0, b"frame", final=True)
        two.ack("a", "w", result=b"r")

    timer = threading.Timer(0.05, finish)
    timer.start()
    assert list(one.journal_read("a", timeout=LIMIT_S)) == [(0, b"frame")]
    assert one.result("a", timeout=LIMIT_S) == b"r"
    timer.join()


def test_an_idle_wait_uses_no_processor(plane):
    listener = plane.listen("work:q")
    before = time.process_time()
    assert not listener.wait(0.5)
    assert time.process_time() - before < 0.05
    listener.close()


def test_a_listener_that_is_dropped_removes_its_socket(plane, path):
    listener = plane.listen("done")
    assert len(sockets(path)) == 1
    del listener
    assert sockets(path) == []


def test_many_listeners_leave_no_descriptor_open(plane, path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        plane.listen("done").close()
        stream = plane.completions()
        stream.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert sockets(path) == []
