"""Rule 3: ack and nack require the claiming worker; a stale worker cannot clobber the new attempt."""

import pytest

from dreamlake.lakeshore.dispatch.plane import Finished, Frame
from dreamlake.lakeshore.errors import ErrorInfo, FencedError


@pytest.fixture
def redispatched(plane, clock):
    """Invocation ``a``: attempt 1 was ``stale``'s, whose lease ran out; attempt 2 is ``fresh``'s."""
    plane.submit("q", b"e", id="a")
    plane.claim("q", "stale", lease_s=10)
    clock.advance(11)
    plane.claim("q", "fresh", lease_s=10)
    return plane


STALE_WORD = {
    "ack": lambda plane: plane.ack("a", "stale", result=b"late"),
    "ack with its attempt": lambda plane: plane.ack("a", "stale", result=b"late", attempt=1),
    "ack with the new attempt": lambda plane: plane.ack("a", "stale", result=b"late", attempt=2),
    "nack to retry": lambda plane: plane.nack("a", "stale", error="late", retry=True),
    "nack to fail": lambda plane: plane.nack("a", "stale", error="late", retry=False, attempt=1),
    "frames": lambda plane: plane.journal_append_many("a", [Frame(0, b"late")], worker_id="stale"),
}


@pytest.mark.parametrize("word", STALE_WORD)
def test_rule_3_the_word_of_a_stale_worker_changes_nothing(redispatched, word):
    before = redispatched.get("a")
    with pytest.raises(FencedError, match="stale no longer holds invocation a"):
        STALE_WORD[word](redispatched)
    assert redispatched.get("a") == before
    redispatched.ack("a", "fresh", result=b"good", attempt=2)
    assert redispatched.result("a") == b"good"
    assert next(redispatched.journal_read("a", timeout=0), None) is None


@pytest.mark.parametrize("error", [None, ErrorInfo("E", "late")])
@pytest.mark.parametrize("crashed", [False, True])
def test_rule_3_in_a_batch_only_the_stale_items_are_refused(redispatched, error, crashed):
    redispatched.submit("q", b"e", id="b")
    redispatched.claim("q", "stale")
    late = Finished("a", 1, None if error else b"late", error=error, retry=True, crashed=crashed)
    assert redispatched.ack_many("stale", [late, Finished("b", 1, b"r")]) == {"a"}
    assert redispatched.get("a")["worker"] == "fresh"
    assert redispatched.get("a")["crashes"] == 1  # the lease that ran out, nothing more
    assert redispatched.result("b") == b"r"
