"""Rule 6: the journal is derived, not truth; trimming it degrades reads to the row, never to a wrong state."""

import sqlite3

import pytest

from dreamlake.lakeshore.dispatch.plane import Frame
from dreamlake.lakeshore.errors import InvocationFailedError


@pytest.fixture
def streamed(plane):
    """An invocation that yielded five frames and succeeded."""
    plane.submit("q", b"e", id="a")
    plane.claim("q", "w")
    plane.journal_append_many("a", [Frame(n, b"%d" % n) for n in range(5)], worker_id="w")
    plane.ack("a", "w", result=b"r")
    return plane


@pytest.mark.parametrize("keep", [0, 2, 5])
def test_rule_6_trimming_leaves_the_row_and_its_result(streamed, keep):
    before = streamed.get("a")
    streamed.journal_trim("a", keep_last=keep)
    assert streamed.get("a") == before
    assert streamed.result("a") == b"r"
    assert [seq for seq, _ in streamed.journal_read("a")] == list(range(5 - keep, 5))


def test_rule_6_a_journal_lost_whole_changes_no_outcome(streamed, path):
    conn = sqlite3.connect(path)
    with conn:
        conn.execute("DELETE FROM frame")
        conn.execute("DELETE FROM journal")
    conn.close()
    assert streamed.result("a") == b"r"
    assert list(streamed.journal_read("a")) == []


def test_rule_6_a_final_frame_ends_no_invocation(plane):
    plane.submit("q", b"e", id="a")
    plane.claim("q", "w")
    plane.journal_append("a", 0, b"END", final=True)
    assert plane.get("a")["state"] == "running"
    with pytest.raises(TimeoutError):
        plane.result("a", timeout=0)
    plane.nack("a", "w", error="the row has the last word", retry=False)
    with pytest.raises(InvocationFailedError, match="the row has the last word"):
        plane.result("a")


def test_rule_6_trimming_under_a_reader_ends_its_stream_cleanly(streamed):
    reader = streamed.journal_read("a")
    assert next(reader)[0] == 0
    streamed.journal_trim("a")
    assert [seq for seq, _ in reader] == [1, 2, 3, 4]  # the page that was read before the trim
