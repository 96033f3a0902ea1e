"""Frame journals: idempotent appends, gapless reads, trims that degrade to the row."""

import threading

import pytest

from dreamlake.lakeshore.dispatch.plane import Frame
from dreamlake.lakeshore.errors import ConfigError, DispatchError, FencedError

LIMIT_S = 20


def read(plane, name, **options):
    """What can be read now, and why it stopped: None for the end."""
    found = []
    try:
        for entry in plane.journal_read(name, timeout=0, **options):
            found.append(entry)  # noqa: PERF402 - kept when the read raises
    except (TimeoutError, DispatchError) as exc:
        return found, exc
    return found, None


def test_frames_come_back_in_order_up_to_the_final_one(plane, other):
    for number, data in enumerate([b"zero", b"", b"\0two\xff"]):
        assert plane.journal_append("j", None, data, final=number == 2) == number
    assert list(other.journal_read("j")) == [(0, b"zero"), (1, b""), (2, b"\0two\xff")]
    assert list(other.journal_read("j", since=1)) == [(2, b"\0two\xff")]
    assert list(other.journal_read("j", since=2)) == []


def test_a_repeated_frame_is_absorbed(plane):
    assert plane.journal_append("j", 0, b"first") == 0
    assert plane.journal_append("j", 0, b"again") == 0
    assert plane.journal_append("j", None, b"next") == 1
    plane.journal_append_many("j", [Frame(0, b"again"), Frame(1, b"again"), Frame(2, b"new", final=True)])
    plane.journal_append_many("j", [Frame(1, b"again"), Frame(2, b"again", final=True)])
    assert list(plane.journal_read("j")) == [(0, b"first"), (1, b"next"), (2, b"new")]


def test_nothing_is_served_past_a_gap_until_it_is_filled(plane):
    plane.journal_append("j", 0, b"0")
    plane.journal_append("j", 2, b"2", final=True)
    found, why = read(plane, "j")
    assert found == [(0, b"0")]
    assert isinstance(why, DispatchError)
    assert "frame 1 never came" in str(why)
    plane.journal_append("j", 1, b"1")
    assert read(plane, "j") == ([(0, b"0"), (1, b"1"), (2, b"2")], None)


def test_a_gap_in_a_journal_that_goes_on_is_waited_for(plane):
    plane.journal_append("j", 1, b"1")
    found, why = read(plane, "j")
    assert found == []
    assert isinstance(why, TimeoutError)
    plane.journal_append("j", 0, b"0")
    assert read(plane, "j")[0] == [(0, b"0"), (1, b"1")]


def test_the_end_of_the_invocation_ends_its_journal(plane, submit, run_one):
    submit("a")
    plane.journal_append("a", 0, b"0")
    assert isinstance(read(plane, "a")[1], TimeoutError)
    run_one()
    assert read(plane, "a") == ([(0, b"0")], None)
    assert read(plane, "a", since=0) == ([], None)


def test_a_gap_that_the_invocation_ended_with_is_named(plane, submit, run_one):
    submit("a")
    plane.journal_append_many("a", [Frame(0, b"0"), Frame(1, b"1"), Frame(4, b"4")])
    run_one()
    found, why = read(plane, "a")
    assert found == [(0, b"0"), (1, b"1")]
    assert "journal a has ended and its frame 2 never came" in str(why)


def test_nothing_follows_the_final_frame(plane):
    plane.journal_append("j", 0, b"0", final=True)
    for seq in (None, 1, 7):
        with pytest.raises(DispatchError, match="journal j ended with frame 0"):
            plane.journal_append("j", seq, b"late")
    with pytest.raises(DispatchError, match="below 0"):
        plane.journal_append("j", -1, b"odd")
    assert read(plane, "j") == ([(0, b"0")], None)


def test_a_frame_with_others_after_it_cannot_be_the_final_one(plane):
    plane.journal_append("j", 3, b"3")
    with pytest.raises(DispatchError, match="frame 1 cannot be the last"):
        plane.journal_append("j", 1, b"1", final=True)


def test_a_batch_that_is_refused_leaves_nothing(plane):
    with pytest.raises(DispatchError):
        plane.journal_append_many("j", [Frame(0, b"0", final=True), Frame(1, b"1")])
    assert read(plane, "j")[0] == []


def test_only_the_holder_of_the_lease_may_append_in_its_name(plane, submit, run_one):
    submit("a")
    with pytest.raises(FencedError):
        plane.journal_append_many("a", [Frame(0, b"0")], worker_id="w")
    plane.claim("q", "w")
    plane.journal_append_many("a", [Frame(0, b"0")], worker_id="w")
    with pytest.raises(FencedError):
        plane.journal_append_many("a", [Frame(1, b"x")], worker_id="stranger")
    plane.ack("a", "w")
    with pytest.raises(FencedError):
        plane.journal_append_many("a", [Frame(1, b"x")], worker_id="w")
    assert read(plane, "a") == ([(0, b"0")], None)


@pytest.mark.parametrize("keep", [0, 1, 3, 10, 99])
def test_a_trimmed_head_is_no_gap(plane, keep):
    for number in range(10):
        plane.journal_append("j", None, b"%d" % number)
    assert plane.journal_trim("j", keep_last=keep) == max(0, 10 - keep)
    assert plane.journal_trim("j", keep_last=keep) == 0
    assert plane.journal_append("j", None, b"10") == 10
    kept = [seq for seq, _ in read(plane, "j")[0]]
    assert kept == list(range(max(0, 10 - keep), 11))
    assert [seq for seq, _ in read(plane, "j", since=8)[0]] == [seq for seq in kept if seq > 8]


def test_a_retried_frame_that_was_trimmed_stays_away(plane):
    plane.journal_append_many("j", [Frame(n, b"%d" % n) for n in range(5)])
    plane.journal_trim("j")
    plane.journal_append_many("j", [Frame(n, b"%d" % n, final=n == 5) for n in range(6)])
    assert read(plane, "j") == ([(5, b"5")], None)


def test_trimming_a_whole_journal_leaves_its_end_and_the_result(plane, submit):
    submit("a")
    plane.claim("q", "w")
    plane.journal_append("a", 0, b"0", final=True)
    plane.ack("a", "w", result=b"r")
    assert plane.journal_trim("a") == 1
    assert read(plane, "a") == ([], None)
    assert plane.result("a") == b"r"
    assert plane.journal_trim("unknown") == 0


def test_a_reader_sees_each_frame_as_it_comes(plane, other):
    step = threading.Semaphore(0)

    def write():
        for number in range(20):
            assert step.acquire(timeout=LIMIT_S)
            other.journal_append("j", number, b"%d" % number, final=number == 19)

    writer = threading.Thread(target=write)
    writer.start()
    step.release()
    seen = []
    for seq, _data in plane.journal_read("j", timeout=LIMIT_S):
        seen.append(seq)  # the next frame is written only after this one has been read
        step.release()
    writer.join()
    assert seen == list(range(20))


def test_activity_starts_the_timeout_again(plane):
    plane.journal_append("j", 0, b"0")
    reader = plane.journal_read("j", timeout=0.2)
    assert next(reader) == (0, b"0")
    with pytest.raises(TimeoutError, match=r"nothing came after frame 0 for 0\.2s"):
        next(reader)


def test_a_journal_that_does_not_exist_yet_is_waited_for(plane, other):
    timer = threading.Timer(
        0.05, lambda: other.journal_append("topic:q:news of the day", None, b"m", final=True)
    )
    timer.start()
    assert list(plane.journal_read("topic:q:news of the day", timeout=LIMIT_S)) == [(0, b"m")]
    timer.join()


def test_a_long_journal_is_read_whole(plane):
    for start in range(0, 5000, 1000):
        plane.journal_append_many("j", [Frame(n, b"x" * 10) for n in range(start, start + 1000)])
    plane.journal_append("j", 5000, b"", final=True)
    assert [seq for seq, _ in plane.journal_read("j")] == list(range(5001))


def test_large_frames_are_read_whole(plane):
    for number in range(5):
        plane.journal_append("j", number, bytes([number]) * (4 << 20), final=number == 4)
    sizes = [(seq, len(data), data[0]) for seq, data in plane.journal_read("j")]
    assert sizes == [(n, 4 << 20, n) for n in range(5)]


@pytest.mark.parametrize("bad", ["", "a\0b", "\ud800", "x" * 1025, None])
def test_a_bad_journal_id_is_refused(plane, bad):
    with pytest.raises(ConfigError, match="journal id"):
        plane.journal_append(bad, None, b"")
