"""A full disk and a file that another process keeps locked: one clear line, the file whole."""

import sqlite3
import subprocess
import sys
import textwrap

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.sqlite import store
from dreamlake.lakeshore.errors import DispatchError


def run_with_little_space(path, script):
    """Run a script whose files may grow to a megabyte; ``until_full(act)`` acts until an error, and prints it."""
    head = f"""
        import resource
        from dreamlake.lakeshore.dispatch import Dispatch
        from dreamlake.lakeshore.dispatch.plane import Finished, Submission
        from dreamlake.lakeshore.errors import ConfigError, DispatchError
        plane = Dispatch({str(path)!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

        def until_full(act):
            for number in range(10_000):
                try:
                    act(number)
                except DispatchError as exc:
                    print(exc)
                    return number
            raise SystemExit("it never got full")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_full_disk_is_one_clear_line_and_what_was_confirmed_stays(path):
    said = run_with_little_space(
        path,
        """
        taken = until_full(lambda n: plane.submit("q", b"e" * 20_000, id=f"i{n}"))
        print(taken, plane.count("q"))
        """,
    )
    assert len(said) == 2
    assert said[0].startswith(
        f"no space left for {path}: nothing of this request was stored; free some space"
    )
    taken, counted = map(int, said[1].split())
    assert taken == counted > 10
    conn = sqlite3.connect(path)
    assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    conn.close()
    plane = Dispatch(path)
    assert plane.count("q") == taken
    assert plane.submit("q", b"e", id="more") == "more"  # with space again, all goes on
    plane.close()


def test_a_batch_that_does_not_fit_is_stored_not_at_all(path):
    said = run_with_little_space(
        path,
        """
        plane.submit("q", b"e", id="first")
        until_full(lambda n: plane.submit_many("q", [Submission(f"i{k}", b"e" * 20_000) for k in range(100)]))
        print(plane.count("q"), plane.get("i0"))
        print(plane.claim("q", "w").id)
        """,
    )
    assert said[0].startswith("no space left")
    assert said[1:] == ["1 None", "first"]


def test_an_end_that_does_not_fit_leaves_the_attempt_running(path):
    said = run_with_little_space(
        path,
        """
        plane.submit_many("q", [Submission(f"i{n}", b"e") for n in range(1000)])
        jobs = plane.claim_many("q", "w", 1000)
        ended = until_full(lambda n: plane.ack(jobs[n].id, "w", result=b"r" * 20_000))
        print(ended, plane.count("q", "succeeded"), plane.get(jobs[ended].id)["state"])
        """,
    )
    assert said[0].startswith("no space left")
    ended, succeeded, state = said[1].split()
    assert ended == succeeded
    assert state == "running"


def test_a_full_database_of_sqlites_own_making(path):
    plane = Dispatch(path)
    plane._store.rows("PRAGMA max_page_count = 40")
    with pytest.raises(DispatchError, match="no space left"):
        for number in range(100):
            plane.submit("q", b"e" * 20_000, id=f"i{number}")
    assert plane.count("q") == number
    plane.close()


def test_a_file_kept_locked_names_the_process_to_look_for(plane, start, until, monkeypatch):
    plane.submit("q", b"e", id="a")
    holder = start("lock", "holder")
    until(lambda: holder.said("locked"), "the lock")
    monkeypatch.setattr(store, "PATIENCE_S", 0.3)
    with pytest.raises(DispatchError, match=rf"stayed locked for 0 s: process {holder.process.pid} holds it"):
        plane.submit("q", b"e", id="b")
    assert plane.get("a")["state"] == "queued"  # reading goes on
    holder.kill()
    assert plane.submit("q", b"e", id="b") == "b"
