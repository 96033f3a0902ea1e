"""Rule 1: one row per invocation; queue entry, metadata and state machine in one place."""

import sqlite3

import pytest

from dreamlake.lakeshore.dispatch.plane import Submission


def rows(path):
    with sqlite3.connect(path) as conn:
        found = conn.execute("SELECT id, state FROM invocation ORDER BY seq").fetchall()
    conn.close()
    return found


def test_rule_1_every_step_of_a_life_is_a_change_of_the_same_row(plane, path, clock):
    plane.submit("q", b"e", id="a")
    assert rows(path) == [("a", "queued")]
    plane.claim("q", "w")
    assert rows(path) == [("a", "running")]
    plane.nack("a", "w", error="again", retry=True, delay_s=5)
    assert rows(path) == [("a", "queued")]
    clock.advance(5)
    plane.claim("q", "w")
    plane.ack("a", "w", result=b"r")
    assert rows(path) == [("a", "succeeded")]


def test_rule_1_no_other_table_names_an_invocation_until_it_streams(plane, path):
    plane.submit_many("q", [Submission(f"i{n}", b"e") for n in range(10)])
    plane.claim_many("q", "w", 5)
    conn = sqlite3.connect(path)
    tables = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    text = {table: repr(conn.execute(f"SELECT * FROM {table}").fetchall()) for table in tables}
    conn.close()
    assert [table for table in tables if "i7" in text[table]] == ["invocation"]


def test_rule_1_the_row_alone_decides_what_is_claimed(plane, path):
    """Whoever edits the row by hand edits the queue: there is no second list to drift from it."""
    plane.submit("q", b"e", id="a")
    plane.submit("q", b"e", id="b")
    conn = sqlite3.connect(path)
    with conn:
        conn.execute("UPDATE invocation SET priority = 9 WHERE id = 'b'")
    conn.close()
    assert plane.claim("q", "w").id == "b"


def test_rule_1_the_database_refuses_a_second_row_for_an_id_or_a_key(plane, path):
    plane.submit("q", b"e", id="a", key="k")
    conn = sqlite3.connect(path)
    for inv_id, key in (("a", None), ("b", "k")):
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
            conn.execute(
                "INSERT INTO invocation (ns, queue, id, key, priority, submitted_at, queued_at, envelope)"
                " VALUES ('default', 'q', ?, ?, 0, 0, 0, x'00')",
                (inv_id, key),
            )
    conn.close()
