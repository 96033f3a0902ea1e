"""Streams of outcomes: nothing lost and nothing twice, whatever becomes of servers and connections."""

import itertools
import threading
import time

import pytest

from dreamlake.lakeshore.dispatch.plane import Outcome
from dreamlake.lakeshore.errors import DispatchError, ErrorInfo
from http_peer import LIMIT_S, Peer, error, reply


class Watches:
    """The watching side of one replica."""

    def __init__(self):
        self.ended = {}
        self.watches = {}
        self.page = 1_000_000
        self._changed = threading.Condition()

    def end(self, *ids):
        with self._changed:
            self.ended.update(dict.fromkeys(ids, True))
            self._changed.notify_all()

    def answer(self, request):
        assert request.path == "/v1/producer/await-many"
        body = request.body
        with self._changed:
            word = "known" if body["watch"] in self.watches else "new"
            watch = self.watches.setdefault(body["watch"], {})
            watch.update(dict.fromkeys(body["ids"]))
            self._changed.wait_for(lambda: any(name in self.ended for name in watch), body["timeout_s"])
            told = [name for name in watch if name in self.ended]
            for name in told[: self.page]:
                del watch[name]
        outcomes = [
            {"invocation_id": name, "state": "succeeded", "result_blob": b"r", "error": None, "attempt": 1}
            for name in told[: self.page]
        ]
        return reply({"ended": outcomes, "watch": word, "more": len(told) > self.page})


@pytest.fixture
def watches(peer):
    made = Watches()
    peer.answer = made.answer
    return made


@pytest.fixture
def stream(watches, plane):
    made = plane.completions()
    yield made
    made.close()


def ids(outcomes):
    return [outcome.id for outcome in outcomes]


def test_nothing_is_asked_while_nothing_is_watched(peer, stream):
    assert stream.wait(LIMIT_S) == []
    assert peer.requests == []


def test_each_end_is_given_once_for_each_time_it_was_added(peer, watches, stream):
    stream.add(["a", "b"])
    watches.end("a")
    assert stream.wait(LIMIT_S) == [Outcome("a", "succeeded", b"r", None, 1)]
    assert stream.wait(0) == []
    stream.add(["a", "b"])
    assert ids(stream.wait(0)) == ["a"]
    assert stream.wait(0) == []


def test_states_are_translated(peer, stream):
    peer.script(
        reply(
            {
                "ended": [
                    {
                        "invocation_id": "k",
                        "state": "killed",
                        "result_blob": None,
                        "error": None,
                        "attempt": 0,
                    },
                    {
                        "invocation_id": "t",
                        "state": "timeout",
                        "result_blob": None,
                        "error": {"type": "DeadlineExceeded", "message": "m"},
                        "attempt": 2,
                    },
                ],
                "watch": "new",
            }
        )
    )
    stream.add(["k", "t"])
    assert stream.wait(0) == [
        Outcome("k", "cancelled", None, None, 0),
        Outcome("t", "failed", None, ErrorInfo("DeadlineExceeded", "m"), 2),
    ]


def test_an_end_wakes_the_waiter(watches, stream):
    stream.add(["a"])
    timer = threading.Timer(0.05, watches.end, ["a"])
    timer.start()
    began = time.monotonic()
    assert ids(stream.wait(LIMIT_S)) == ["a"]
    assert time.monotonic() - began < LIMIT_S / 2
    timer.join()


def test_only_new_ids_are_sent(peer, watches, stream):
    stream.add(["a", "b"])
    stream.wait(0)
    stream.add(["b", "c"])
    stream.wait(0)
    stream.wait(0)
    assert [request.body["ids"] for request in peer.requests] == [["a", "b"], ["c"], []]


def test_many_are_sent_ten_thousand_at_a_time_and_given_together(peer, watches, stream):
    names = [f"i{n}" for n in range(25_000)]
    watches.end(*names)
    stream.add(names)
    assert ids(stream.wait(0)) == names
    assert [len(request.body["ids"]) for request in peer.requests] == [10_000, 10_000, 5_000]


def test_long_ids_are_sent_in_bodies_below_a_mebibyte(peer, watches, stream):
    names = [f"{n:0128d}" for n in range(9000)]
    watches.end(*names)
    stream.add(names)
    assert ids(stream.wait(0)) == names
    assert max(sum(map(len, request.body["ids"])) for request in peer.requests) < 1 << 20


def test_the_number_of_the_last_answer_is_acknowledged(peer, stream):
    stream.add(["a"])
    for number in (7, 8, None):
        peer.script(reply({"ended": [], "watch": "known", "number": number}))
        stream.wait(0)
    assert [request.body["ack"] for request in peer.requests] == [None, 7, 8]


def test_an_answer_that_has_more_is_read_on(watches, stream):
    watches.page = 3
    watches.end(*"abcdefgh")
    stream.add("abcdefgh")
    assert ids(stream.wait(0)) == list("abcdefgh")


def test_a_replica_that_lost_the_watch_is_told_all_of_it_again(peer, watches, stream):
    stream.add(["a", "b"])
    stream.wait(0)
    watches.watches.clear()
    stream.add(["c"])
    watches.end("a", "c")
    assert sorted(ids(stream.wait(0))) == ["a", "c"]
    watches.end("b")
    assert ids(stream.wait(0)) == ["b"]


def test_replicas_that_take_turns_lose_nothing(peer, plane):
    replicas = [Watches(), Watches()]
    turns = itertools.cycle(replicas)
    peer.answer = lambda request: next(turns).answer(request)
    stream = plane.completions()
    seen = []
    for number in range(40):
        stream.add([f"early{number}", f"late{number}"])
        for replica in replicas:
            replica.end(f"early{number}", *([f"late{number - 3}"] if number >= 3 else []))
        seen += ids(stream.wait(0))
    for replica in replicas:
        replica.end(*(f"late{number}" for number in range(40)))
    seen += ids(stream.wait(0))
    assert len(seen) == len(set(seen)) == 80
    stream.close()


def test_a_lost_answer_is_asked_for_again(peer, watches, stream):
    stream.add(["a", "b"])
    stream.wait(0)
    watches.end("a")

    def lose(request):
        watches.answer(request)
        peer.answer = watches.answer

    peer.answer = lose
    assert ids(stream.wait(0)) == ["a"]
    watches.end("b")
    assert ids(stream.wait(0)) == ["b"]


def test_what_is_told_twice_is_given_once(peer, stream):
    told = {"invocation_id": "a", "state": "succeeded", "result_blob": b"r", "error": None, "attempt": 1}
    peer.script(reply({"ended": [told, told], "watch": "known"}))
    stream.add(["a", "b"])
    assert ids(stream.wait(0)) == ["a"]
    assert stream.wait(0) == []


def test_a_server_that_loses_every_answer_is_given_up(peer, connect):
    peer.script(None)
    stream = connect(timeout=0.3).completions()
    stream.add(["a"])
    with pytest.raises(DispatchError, match="no control plane answers"):
        stream.wait(LIMIT_S)
    stream.close()


def test_a_failing_server_is_an_error_and_the_stream_goes_on_after_it(peer, watches, connect):
    stream = connect(timeout=0.1).completions()
    stream.add(["a"])
    peer.script(error("store_unavailable", 503, "no database"))
    with pytest.raises(DispatchError, match="no database"):
        stream.wait(0)
    peer.answer = watches.answer
    watches.end("a")
    assert ids(stream.wait(0)) == ["a"]
    stream.close()


def test_closing_ends_a_wait(peer, stream):
    peer.script(Peer.HANG)
    stream.add(["a"])
    timer = threading.Timer(0.05, stream.close)
    timer.start()
    with pytest.raises(DispatchError, match="this stream of completions is closed"):
        stream.wait(LIMIT_S)
    timer.join()
    with pytest.raises(DispatchError, match="this stream of completions is closed"):
        stream.wait(0)
