"""Reports on the plane: frames before ends, text as it was printed, and what does not fit is left out."""

import contextlib
import logging

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.plane import Finished, Frame
from dreamlake.lakeshore.worker.deliver import deliver, log_journal
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, LogReport


@pytest.fixture
def plane():
    opened = Dispatch(":memory:")
    yield opened
    opened.close()


def claim(plane, inv_id):
    plane.submit("q", b"e", id=inv_id)
    return plane.claim("q", "w")


def frames_of(plane, journal):
    frames = []
    with contextlib.suppress(TimeoutError):
        frames.extend(plane.journal_read(journal, timeout=0))
    return frames


def test_frames_are_stored_before_the_end_that_closes_the_journal_to_them(plane):
    job = claim(plane, "i")
    reports = [
        FrameReport("i", Frame(0, b"a")),
        DoneReport(Finished("i", job.attempt, b"r"), 0.0),
        FrameReport("i", Frame(1, b"b", final=True)),
    ]
    assert deliver(plane, "w", reports) == set()
    assert frames_of(plane, "i") == [(0, b"a"), (1, b"b")]
    assert plane.result("i", timeout=0) == b"r"


def test_the_same_reports_once_more_change_nothing(plane):
    job = claim(plane, "i")
    reports = [FrameReport("i", Frame(0, b"a")), DoneReport(Finished("i", job.attempt, b"r"), 0.0)]
    deliver(plane, "w", reports)
    row = plane.get("i")
    assert deliver(plane, "w", reports) == {"i"}
    assert plane.get("i") == row
    assert frames_of(plane, "i") == [(0, b"a")]


def test_text_of_one_trip_is_one_entry_for_each_invocation(plane):
    claim(plane, "i")
    texts = [LogReport("i", 1, 0, "a\n"), LogReport("i", 1, 1, "b\n"), LogReport("j", 1, 0, "other\n")]
    deliver(plane, "w", texts)
    assert frames_of(plane, log_journal("i")) == [(0, b"a\nb\n")]
    assert frames_of(plane, log_journal("j")) == [(0, b"other\n")]


def test_text_that_utf_8_cannot_spell_is_kept_nearly(plane):
    deliver(plane, "w", [LogReport("i", 1, 0, "odd \ud800\n")])
    assert frames_of(plane, log_journal("i")) == [(0, b"odd ?\n")]


def test_frames_behind_the_end_of_a_journal_are_left_out_and_the_job_ends_well(plane, caplog):
    job = claim(plane, "i")
    plane.journal_append("i", 0, b"a")
    plane.journal_append("i", 1, b"end", final=True)
    with caplog.at_level(logging.WARNING, "lakeshore.worker"):
        more = [FrameReport("i", Frame(n, b"new")) for n in range(4)]
        lost = deliver(plane, "w", [*more, DoneReport(Finished("i", job.attempt, b"r"), 0.0)])
    assert lost == set()
    assert frames_of(plane, "i") == [(0, b"a"), (1, b"end")]
    assert plane.get("i")["state"] == "succeeded"
    assert "frame was left out" in caplog.text
