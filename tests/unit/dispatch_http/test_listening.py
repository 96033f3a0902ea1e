"""Listeners: exact by themselves, with a thread only for those who need a descriptor."""

import gc
import os
import select
import threading
import time

import pytest

from dreamlake.lakeshore.errors import DispatchError
from http_peer import LIMIT_S, error, reply, until


class Topics:
    """The waiting side of a control plane: a count for each topic."""

    def __init__(self, peer):
        self.counts = {}
        self.away = False
        self.asked = 0
        self._changed = threading.Condition()
        peer.answer = self.answer

    def touch(self, topic):
        with self._changed:
            self.counts[topic] = self.counts.get(topic, 0) + 1
            self._changed.notify_all()

    def close(self):
        with self._changed:
            self.away = True
            self._changed.notify_all()

    def answer(self, request):
        assert request.path == "/v1/producer/wait"
        ((topic, cursor),) = request.body["topics"].items()
        with self._changed:
            self.asked += 1
            if cursor is not None:
                self._changed.wait_for(
                    lambda: self.away or self.counts.get(topic, 0) != cursor, request.body["timeout_s"]
                )
            if self.away:
                return error("bad_request", 400, "away")
            now = self.counts.get(topic, 0)
        return reply({"cursors": {topic: now}, "woken": [topic] if cursor not in (None, now) else []})


@pytest.fixture
def topics(peer):
    made = Topics(peer)
    yield made
    made.close()


@pytest.fixture
def listener(topics, plane):
    made = plane.listen("work:q")
    yield made
    made.close()


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "lakeshore-listen-work:q"]


def readable(listener, timeout=0.0):
    return bool(select.select([listener.fileno()], [], [], timeout)[0])


def test_a_listener_needs_no_thread(topics, listener):
    assert listener.wait(0) is False
    topics.touch("work:q")
    topics.touch("work:q")
    assert listener.wait(0) is True
    assert listener.wait(0) is False
    topics.touch("work:other")
    assert listener.wait(0) is False
    assert threads() == []


def test_a_wait_ends_when_something_happens(topics, listener):
    timer = threading.Timer(0.05, topics.touch, ["work:q"])
    timer.start()
    began = time.monotonic()
    assert listener.wait(LIMIT_S) is True
    assert time.monotonic() - began < LIMIT_S / 2
    timer.join()
    assert listener.wait(0.05) is False


def test_what_happened_before_it_listened_is_no_wake_up(topics, plane):
    topics.touch("work:q")
    listener = plane.listen("work:q")
    assert listener.wait(0) is False
    listener.close()


def test_its_descriptor_is_readable_until_it_was_waited_for(topics, listener):
    assert not readable(listener)
    for _ in range(5):
        topics.touch("work:q")
        assert readable(listener, LIMIT_S)
        assert listener.wait(0) is True
        assert not readable(listener)
        assert listener.wait(0) is False


def test_a_wait_that_comes_before_the_thread_tells_it_leaves_nothing_behind(topics, listener):
    listener.fileno()
    for _ in range(50):
        topics.touch("work:q")
        assert listener.wait(0) is True
        assert listener.wait(0) is False
    until(lambda: not readable(listener) or listener.wait(0))
    assert not readable(listener)


def test_no_wake_up_of_a_flood_is_lost(topics, listener):
    """After the last touch the listener is told at least once, whatever came before."""
    listener.fileno()
    heard = 0
    flood = threading.Thread(target=lambda: [topics.touch("work:q") for _ in range(2000)])
    flood.start()
    while flood.is_alive():
        if readable(listener, 0.01):
            assert listener.wait(0)
            heard += 1
    flood.join()
    while listener.wait(0):
        heard += 1
    assert heard >= 1
    assert listener._position.cursor == 2000


def test_nobody_is_asked_while_a_ring_is_not_answered(topics, listener):
    listener.fileno()
    topics.touch("work:q")
    assert readable(listener, LIMIT_S)
    asked = topics.asked
    for _ in range(10):
        topics.touch("work:q")
    assert readable(listener)
    assert topics.asked == asked


def test_closing_ends_the_thread_at_once(topics, listener):
    listener.fileno()
    until(lambda: topics.asked >= 2)
    assert len(threads()) == 1
    began = time.monotonic()
    listener.close()
    listener.close()
    assert threads() == []
    assert time.monotonic() - began < 2
    for act in (lambda: listener.wait(0), listener.fileno):
        with pytest.raises(DispatchError, match="this listener is closed"):
            act()


def test_closing_the_plane_ends_the_thread(topics, plane, listener):
    listener.fileno()
    until(lambda: topics.asked >= 2)
    plane.close()
    until(lambda: threads() == [])
    with pytest.raises(DispatchError, match="closed"):
        listener.wait(0)


def test_an_abandoned_listener_ends_its_thread(topics, plane):
    listener = plane.listen("work:q")
    listener.fileno()
    until(lambda: topics.asked >= 2)
    del listener
    gc.collect()
    until(lambda: threads() == [])


def test_a_server_that_was_away_costs_one_ring_and_no_thread(peer, topics, listener):
    listener.fileno()
    until(lambda: topics.asked >= 2)
    failures = []

    def fail(request):
        failures.append(request)
        return error("store_unavailable", 503)

    peer.answer = fail
    topics.touch("work:q")
    assert readable(listener, LIMIT_S)  # the request that was under way
    assert listener.wait(0)
    until(lambda: len(failures) >= 3)
    assert not readable(listener)
    peer.answer = topics.answer
    assert readable(listener, LIMIT_S)
    assert listener.wait(0)
    assert not readable(listener)
    topics.touch("work:q")
    assert readable(listener, LIMIT_S)


def test_a_forked_child_has_a_listener_of_its_own(topics, listener):
    listener.fileno()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            listener.wait(0)
            topics_are_the_parents = not readable(listener)
            status = 0 if topics_are_the_parents and len(threads()) == 1 else 2
            listener.close()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    topics.touch("work:q")
    assert readable(listener, LIMIT_S)
    assert listener.wait(0)
