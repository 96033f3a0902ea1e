"""Wake-ups: what each verb says on which topic, and that none is lost."""

import select
import threading
import time

import pytest

from dreamlake.lakeshore.errors import DispatchError

LIMIT_S = 20


@pytest.fixture
def listen(plane):
    opened = []

    def listen(topic):
        opened.append(plane.listen(topic))
        return opened[-1]

    yield listen
    for listener in opened:
        listener.close()


def test_nothing_happens_no_wake_up(listen):
    assert listen("work:q").wait(0) is False
    assert listen("done").wait(0.01) is False


def test_work_is_announced_to_everyone_on_the_queue(plane, other, listen, submit):
    first, second, elsewhere = listen("work:q"), listen("work:q"), listen("work:other")
    other.submit("q", b"e", id="a")
    assert first.wait(LIMIT_S)
    assert second.wait(LIMIT_S)
    assert not first.wait(0)
    assert not elsewhere.wait(0)


@pytest.mark.parametrize(
    "act",
    [
        lambda plane: plane.release(["a"], "w"),
        lambda plane: plane.nack("a", "w", error="x", retry=True),
        lambda plane: plane.cancel("a"),
        lambda plane: plane.set_queue_state("q", "draining"),
    ],
    ids=["release", "nack", "cancel of a running one", "queue state"],
)
def test_what_makes_work_or_takes_it_wakes_the_workers(plane, other, listen, submit, act):
    submit("a")
    plane.claim("q", "w")
    listener = listen("work:q")
    act(other)
    assert listener.wait(LIMIT_S)


@pytest.mark.parametrize(
    "act",
    [
        lambda plane: plane.ack("a", "w"),
        lambda plane: plane.nack("a", "w", error="x", retry=False),
        lambda plane: plane.cancel("a"),
    ],
    ids=["ack", "nack", "cancel"],
)
def test_every_end_wakes_those_who_wait_for_ends_and_for_the_stream(plane, other, listen, submit, act):
    submit("a")
    plane.claim("q", "w")
    done, stream, foreign = listen("done"), listen("journal:a"), listen("journal:b")
    act(other)
    assert done.wait(LIMIT_S)
    assert stream.wait(LIMIT_S)
    assert not foreign.wait(0)


def test_frames_wake_the_readers_of_their_journal(plane, other, listen):
    ours, foreign = listen("journal:a"), listen("journal:b")
    other.journal_append("a", None, b"frame")
    assert ours.wait(LIMIT_S)
    assert not foreign.wait(0)


def test_a_listener_can_be_selected_on(plane, listen):
    listener = listen("work:q")
    fd = listener.fileno()
    assert fd >= 0
    assert select.select([fd], [], [], 0)[0] == []
    plane.submit("q", b"e", id="a")
    assert select.select([fd], [], [], LIMIT_S)[0] == [fd]
    assert listener.wait(0)
    assert select.select([fd], [], [], 0)[0] == []


def test_a_wake_up_before_the_wait_is_kept(plane, listen):
    listener = listen("work:q")
    plane.submit("q", b"e", id="a")
    plane.submit("q", b"e", id="b")
    assert listener.wait(0)
    assert not listener.wait(0)


def test_a_flood_of_wake_ups_blocks_nobody(plane, listen):
    listener = listen("work:q")
    for number in range(1000):
        plane.submit("q", b"e", id=f"i{number}")
    assert listener.wait(0)
    while listener.wait(0):
        pass
    assert plane.count("q") == 1000


def test_a_transaction_that_fails_wakes_nobody(plane, listen, submit):
    submit("a")
    listener = listen("work:q")
    with pytest.raises(DispatchError):
        plane.submit("q", b"other", id="a")
    assert not listener.wait(0)


def test_a_waiting_result_is_woken_at_once(plane, other, submit):
    submit("a")
    other.claim("q", "w")
    timer = threading.Timer(0.05, lambda: other.ack("a", "w", result=b"r"))
    timer.start()
    began = time.monotonic()
    assert plane.result("a", timeout=LIMIT_S) == b"r"
    assert time.monotonic() - began < 1.5  # less than the pause between looks without a wake-up
    timer.join()


def test_a_closed_listener_hears_nothing(plane):
    listener = plane.listen("work:q")
    listener.close()
    listener.close()
    plane.submit("q", b"e", id="a")
    with pytest.raises(DispatchError, match="closed"):
        listener.wait(0)
