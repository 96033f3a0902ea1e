"""The file's version: brought forward step by step, refused when it is newer or somebody else's."""

import sqlite3

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.sqlite import schema
from dreamlake.lakeshore.errors import ConfigError


def version(path):
    conn = sqlite3.connect(path)
    found = schema.version_of(conn)
    conn.close()
    return found


def test_a_new_file_has_the_current_version(plane, path):
    assert version(path) == len(schema.STEPS)


def test_an_older_file_is_brought_forward_and_keeps_its_rows(open_plane, path, monkeypatch):
    plane = open_plane()
    plane.submit("q", b"e", id="a")
    plane.close()
    added = (
        "ALTER TABLE invocation ADD COLUMN colour TEXT NOT NULL DEFAULT 'green'",
        "CREATE TABLE extra (x)",
    )
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, added, ("INSERT INTO extra VALUES (1)",)))
    monkeypatch.setattr(schema.migrate, "__defaults__", (schema.STEPS,))
    monkeypatch.setattr(schema.check_ours, "__defaults__", (schema.STEPS,))
    for _ in range(2):
        again = open_plane()
        assert again.claim("q", "w").id == "a"
        again.release(["a"], "w")
        again.close()
    assert version(path) == len(schema.STEPS)
    conn = sqlite3.connect(path)
    assert conn.execute("SELECT id, colour FROM invocation").fetchall() == [("a", "green")]
    assert conn.execute("SELECT x FROM extra").fetchall() == [(1,)]
    conn.close()


def test_a_step_that_fails_leaves_the_file_as_it_was(plane, path):
    plane.close()
    conn = sqlite3.connect(path, isolation_level=None)
    steps = (*schema.STEPS, ("CREATE TABLE extra (x)", "INSERT INTO nowhere VALUES (1)"))
    conn.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(conn, str(path), steps)
    conn.execute("ROLLBACK")
    assert schema.version_of(conn) == len(schema.STEPS)
    assert conn.execute("SELECT count(*) FROM sqlite_master WHERE name = 'extra'").fetchone() == (0,)
    conn.close()


def test_a_newer_file_is_refused_with_both_versions_and_the_way_out(plane, path):
    plane.submit("q", b"e", id="a")
    plane.close()
    conn = sqlite3.connect(path)
    conn.execute(f"PRAGMA user_version = {len(schema.STEPS) + 3}")
    conn.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError) as caught:
        Dispatch(path)
    message = str(caught.value)
    assert str(path) in message
    assert f"version {len(schema.STEPS) + 3} " in message
    assert f"up to {len(schema.STEPS)}:" in message
    assert "pip install --upgrade" in message
    assert "\n" not in message
    assert path.read_bytes() == before


@pytest.mark.parametrize("prepare", ["CREATE TABLE invocation (x)", "PRAGMA user_version = 1"])
def test_another_programs_database_is_left_alone(path, prepare):
    conn = sqlite3.connect(path)
    with conn:
        conn.execute(prepare)
    conn.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="another program's database"):
        Dispatch(path)
    assert path.read_bytes() == before
