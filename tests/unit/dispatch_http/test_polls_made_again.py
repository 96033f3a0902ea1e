"""Claims whose answer was lost: asked for again under the same name."""

import pytest

from dreamlake.lakeshore.dispatch.plane import Finished
from dreamlake.lakeshore.errors import DispatchError
from http_peer import error, reply, until

NOW = reply({"now": 1.0})


def polled(*ids):
    bodies = [{"invocation_id": name, "args_blob": b"e", "attempt": 1, "queue": "q"} for name in ids]
    commands = [{"id": body["invocation_id"], "kind": "run", "body": body} for body in bodies]
    return reply({"commands": commands, "fenced": [], "next_due_s": None})


def names_and_marks(peer):
    polls = [request.body for request in peer.requests if request.path.endswith("/daemon/poll")]
    return [body["claim_id"] for body in polls], [body.get("again", False) for body in polls]


@pytest.fixture
def polls(plane):
    made = plane.polls("w")
    yield made
    made.hang_up()


def ask(polls, n=1, reports=()):
    polls.ask("q", n, reports, kind="fifo", temperature=1.0, lease_s=30.0)


def test_a_claim_whose_answer_was_lost_asks_for_what_that_answer_held(peer, plane):
    peer.script(NOW)
    plane.now()
    peer.script(None, None, error("stopping", 503), polled("a"))
    assert plane.claim("q", "w").id == "a"
    names, marks = names_and_marks(peer)
    assert (len({*names}), marks) == (1, [False, True, True, True])


def test_each_claim_has_a_name_of_its_own(peer, plane):
    peer.script(polled("a"), polled("b"))
    plane.claim("q", "w")
    plane.claim("q", "w")
    names, marks = names_and_marks(peer)
    assert (len({*names}), marks) == (2, [False, False])


def test_a_claim_that_stays_unanswered_says_so(peer, connect):
    plane = connect(timeout=0.2)
    peer.script(NOW)
    plane.now()
    peer.script(None)
    with pytest.raises(DispatchError, match="no control plane answers"):
        plane.claim("q", "w")
    assert len(peer.requests) > 2


def test_a_question_whose_answer_was_lost_is_asked_again_under_its_name(peer, polls):
    peer.script(None, error("store_unavailable", 503), polled("a"), polled("b"))
    for _ in range(2):
        ask(polls)
        with pytest.raises(DispatchError):
            polls.answer()
    for expected in "ab":
        ask(polls)
        assert [claim.id for claim in polls.answer().claims] == [expected]
    names, marks = names_and_marks(peer)
    assert names[0] == names[1] == names[2] != names[3]
    assert marks == [False, True, True, False]


def test_a_question_that_was_taken_back_gives_its_name_to_the_next(peer, polls):
    peer.script(peer.HANG)
    ask(polls)
    until(lambda: peer.requests)
    polls.hang_up()
    peer.script(polled("a"))
    ask(polls, reports=[Finished("done", 1, b"r")])
    assert [claim.id for claim in polls.answer().claims] == ["a"]
    names, marks = names_and_marks(peer)
    assert (names[0], marks) == (names[1], [False, True])


def test_what_an_earlier_question_got_beyond_this_one_is_handed_back(peer, polls):
    peer.script(None)
    ask(polls, 3)
    with pytest.raises(DispatchError):
        polls.answer()
    peer.answer = lambda request: (
        reply({"released": 2}) if request.path.endswith("/release") else polled("a", "b", "c")
    )
    ask(polls, 1)
    assert [claim.id for claim in polls.answer().claims] == ["a"]
    assert peer.requests[-1].body["ids"] == ["b", "c"]


def test_a_claim_that_brings_too_much_hands_the_rest_back(peer, plane):
    peer.answer = lambda request: (
        reply({"released": 1}) if request.path.endswith("/release") else polled("a", "b")
    )
    assert plane.claim("q", "w").id == "a"
    assert peer.requests[-1].body["ids"] == ["b"]
