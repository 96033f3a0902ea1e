"""Opening: files that cannot be a plane, who may read it, forks, threads, namespaces."""

import os
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.errors import ConfigError, DispatchError


def refused(path):
    with pytest.raises(ConfigError) as caught:
        Dispatch(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_is_no_file(tmp_path):
    assert "is a folder, not a file" in refused(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    assert f"there is no folder {tmp_path / 'nope'}" in refused(tmp_path / "nope" / "d.sqlite")


def test_an_empty_path_is_refused():
    assert "empty path" in refused("")


@pytest.mark.parametrize("content", [b"hello, I am a text file\n" * 100, os.urandom(8192)])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert "is not a Lakeshore database" in refused(path)
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_written_says_so():
    """As a user without rights over the file: root has them all, so a child gives them up first."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = f"{folder}/d.sqlite"
        Dispatch(path).close()
        Path(path).chmod(0o444)
        said = run(f"""
            import os
            from dreamlake.lakeshore.dispatch import Dispatch
            from dreamlake.lakeshore.errors import ConfigError
            Dispatch().close()
            if os.getuid() == 0:
                os.seteuid(65534)
            try:
                Dispatch({path!r})
            except ConfigError as exc:
                print(exc)
        """)
    assert "cannot be opened for writing (Permission denied)" in said
    assert "set LAKESHORE_HOME elsewhere" in said


def run(script):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_file_is_for_its_user_alone(plane, path):
    plane.submit("q", b"e", id="a")
    for name in (path, path.with_name(path.name + "-wal")):
        assert stat.S_IMODE(name.stat().st_mode) == 0o600


def test_a_path_object_and_a_str_name_the_same_plane(path):
    one, two = Dispatch(path), Dispatch(str(path))
    one.submit("q", b"e", id="a")
    assert two.get("a")["state"] == "queued"
    one.close()
    two.close()


def test_namespaces_are_out_of_sight_of_each_other(open_plane):
    one, two = open_plane(ns="one"), open_plane(ns="two")
    one.submit("q", b"1", id="a")
    assert two.get("a") is None
    assert two.claim("q", "w") is None
    assert not two.cancel("a")
    assert two.queues() == []
    assert two.invocations() == []
    two.submit("q", b"2", id="a")
    one.journal_append("a", None, b"frame")
    assert two.journal_append("a", None, b"frame") == 0
    listener = two.listen("work:q")
    one.submit("q", b"1", id="b")
    assert not listener.wait(0)
    listener.close()
    stream = two.completions()
    stream.add(["b"])
    one.cancel("b")
    assert stream.wait(0) == []
    stream.close()
    with pytest.raises(ConfigError, match="namespace"):
        open_plane(ns="no/slash")


def test_durable_waits_for_the_disk_at_every_commit(path):
    for durable, level in ((True, 2), (False, 1)):
        plane = Dispatch(path, durable=durable)
        assert plane._store.rows("PRAGMA synchronous")[0][0] == level
        plane.close()


def test_planes_in_memory_are_apart():
    one, two = Dispatch(), Dispatch()
    one.submit("q", b"e", id="a")
    assert two.get("a") is None
    one.close()
    two.close()


def test_a_plane_in_memory_serves_all_threads():
    plane = Dispatch()
    got = []

    def work():
        listener = plane.listen("work:q")
        while (claimed := plane.claim("q", "w")) is None:
            assert listener.wait(20), "no wake-up within 20 s"
        plane.ack(claimed.id, "w", result=b"r")
        got.append(claimed.id)
        listener.close()

    thread = threading.Thread(target=work)
    thread.start()
    plane.submit("q", b"e", id="a")
    assert plane.result("a", timeout=20) == b"r"
    thread.join()
    assert got == ["a"]
    plane.close()


def test_a_forked_child_opens_a_connection_of_its_own(path):
    said = run(f"""
        import os, threading
        from dreamlake.lakeshore.dispatch import Dispatch
        plane = Dispatch({str(path)!r})
        plane.submit("q", b"e", id="parent")
        held = plane._store._lock
        held.acquire()  # as if another thread was in the middle of something
        pid = os.fork()
        if pid == 0:
            plane.submit("q", b"e", id="child")
            print(plane.count("q"), flush=True)
            plane.close()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        held.release()
        plane.submit("q", b"e", id="again")
        print([job.id for job in plane.claim_many("q", "w", 9)])
    """)
    assert said.splitlines() == ["2", "['parent', 'child', 'again']"]


def test_a_child_forked_while_another_thread_is_writing_leaves_it_alone(path):
    said = run(f"""
        import os, sys, threading
        from dreamlake.lakeshore.dispatch import Dispatch
        plane = Dispatch({str(path)!r})
        plane.submit("q", b"e", id="a")
        written, forked = threading.Event(), threading.Event()

        def write():
            with plane._store.write() as tx:
                tx.run("UPDATE invocation SET priority = 1.0")
                tx.run("CREATE TABLE big AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n"
                       " LIMIT 5000) SELECT randomblob(5000) FROM n")  # more than is kept in memory
                written.set()
                assert forked.wait(30)

        thread = threading.Thread(target=write)
        thread.start()
        assert written.wait(30)
        if os.fork() == 0:
            sys.exit(0)  # with all that an orderly end takes down
        os.wait()
        forked.set()
        thread.join()
        print(plane.get("a")["priority"], plane._store.rows("SELECT count(*) FROM big")[0][0])
        print(Dispatch({str(path)!r})._store.rows("PRAGMA integrity_check")[0][0])
    """)
    assert said.splitlines() == ["1.0 5000", "ok"]


def test_a_forked_child_is_told_that_memory_is_not_shared():
    said = run("""
        import os
        from dreamlake.lakeshore.dispatch import Dispatch
        plane = Dispatch()
        if os.fork() == 0:
            try:
                plane.count("q")
            except Exception as exc:
                print(type(exc).__name__, exc, flush=True)
            os._exit(0)
        os.wait()
    """)
    assert said.startswith("DispatchError a plane in memory stays with the process that made it")


def test_closing_leaves_one_file(open_plane, path, tmp_path):
    plane = open_plane()
    listener = plane.listen("done")
    plane.submit("q", b"e", id="a")
    listener.close()
    plane.close()
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.is_file()) == [path.name]
    with pytest.raises(DispatchError, match="closed"):
        plane.claim("q", "w")


def test_a_damaged_file_is_said_to_be_damaged(open_plane, path):
    plane = open_plane()
    for number in range(200):
        plane.submit("q", b"e" * 1000, id=f"i{number}")
    plane.close()
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = os.urandom(len(content) - 4096 * 2)
    path.write_bytes(content)
    with pytest.raises((DispatchError, ConfigError), match=r"is damaged .*recover"):
        Dispatch(path).count("q")


def test_a_signal_handler_in_the_middle_of_a_call_is_told_and_the_call_goes_on(plane):
    with plane._store.write() as tx:  # as it stands when a signal comes in
        tx.run("UPDATE counter SET value = 7 WHERE name = 'finish'")
        with pytest.raises(DispatchError, match="used by a signal handler in the middle"):
            plane.submit("q", b"e", id="a")
        with pytest.raises(DispatchError, match="set a flag"):
            plane.signals("q")
    assert plane._store.rows("SELECT value FROM counter")[0][0] == 7


def test_an_interrupt_in_the_middle_of_a_call_leaves_nothing_behind(plane):
    with pytest.raises(KeyboardInterrupt), plane._store.write() as tx:
        tx.run("UPDATE counter SET value = 7 WHERE name = 'finish'")
        raise KeyboardInterrupt
    assert plane._store.rows("SELECT value FROM counter")[0][0] == 0
    assert plane.submit("q", b"e", id="a") == "a"
