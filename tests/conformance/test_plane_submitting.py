"""Submitting: each id once, each key once, all of a batch or none."""

import math

import pytest

from dreamlake.lakeshore.dispatch.plane import Backoff, Plane, RunConfig, Submission
from dreamlake.lakeshore.errors import ConfigError, DispatchError, QueueUnavailableError


def test_it_is_a_plane(plane):
    assert isinstance(plane, Plane)


def test_a_submitted_invocation_is_a_queued_row(plane, other):
    assert plane.submit("q", b"env", id="a", priority=2.5, parent="p") == "a"
    row = other.get("a")
    assert row["id"] == "a"
    assert row["queue"] == "q"
    assert row["state"] == "queued"
    assert row["priority"] == 2.5
    assert row["parent"] == "p"
    assert row["attempt"] == 0
    assert row["submitted_at"] == pytest.approx(plane.now(), abs=1e-3)
    assert row["error"] is None
    assert not {"envelope", "result"} & set(row)


def test_an_unknown_id_has_no_row(plane):
    assert plane.get("nobody") is None


def test_a_key_gives_the_earlier_invocation(plane):
    assert plane.submit("q", b"1", id="a", key="k") == "a"
    assert plane.submit("q", b"2", id="b", key="k") == "a"
    assert plane.get("b") is None
    assert plane.count("q") == 1


def test_a_key_belongs_to_its_queue(plane):
    assert plane.submit("q", b"1", id="a", key="k") == "a"
    assert plane.submit("other", b"1", id="b", key="k") == "b"


def test_a_key_is_remembered_after_the_end(plane, run_one):
    plane.submit("q", b"1", id="a", key="k")
    run_one()
    assert plane.submit("q", b"1", id="b", key="k") == "a"
    assert plane.count("q") == 0


def test_the_direct_key_and_priority_win_over_the_config(plane):
    plane.submit("q", b"1", id="a", key="direct", priority=3.0, config=RunConfig(key="config", priority=1.0))
    row = plane.get("a")
    assert (row["key"], row["priority"]) == ("direct", 3.0)


def test_the_same_submission_twice_is_one(plane):
    assert plane.submit("q", b"1", id="a") == plane.submit("q", b"1", id="a") == "a"
    assert plane.count("q") == 1


@pytest.mark.parametrize(("queue", "envelope"), [("q", b"other"), ("other", b"1")])
def test_an_id_with_other_content_is_refused(plane, queue, envelope):
    plane.submit("q", b"1", id="a")
    with pytest.raises(DispatchError, match="a exists already with other content"):
        plane.submit(queue, envelope, id="a")
    assert plane.count("q") + plane.count("other") == 1


def test_a_batch_is_stored_in_order(plane):
    ids = [f"i{n}" for n in range(50)]
    assert plane.submit_many("q", [Submission(name, b"e") for name in ids]) == ids
    assert [claimed.id for claimed in plane.claim_many("q", "w", 50)] == ids


def test_a_batch_with_one_conflict_stores_nothing(plane):
    plane.submit("q", b"1", id="old")
    with pytest.raises(DispatchError, match="old"):
        plane.submit_many("q", [Submission("new", b"1"), Submission("old", b"2")])
    assert plane.get("new") is None
    assert plane.signals("q").arrived == 1


def test_a_batch_mixes_new_ids_known_ids_and_known_keys(plane):
    plane.submit("q", b"1", id="a", key="k")
    items = [
        Submission("b", b"2"),
        Submission("c", b"3", RunConfig(key="k")),
        Submission("b", b"2"),
        Submission("d", b"4", RunConfig(key="new")),
        Submission("e", b"5", RunConfig(key="new")),
    ]
    assert plane.submit_many("q", items) == ["b", "a", "b", "d", "d"]
    assert plane.count("q") == 3
    assert plane.signals("q").arrived == 3


def test_an_empty_batch_is_nothing(plane):
    assert plane.submit_many("q", []) == []
    assert plane.queues() == []


def test_a_claim_gets_what_the_worker_needs(plane):
    config = RunConfig(retries=4, timeout_s=2.5, backoff=Backoff(0.25, 8.0))
    plane.submit("q", b"\0envelope\xff", id="a", config=config)
    claimed = plane.claim("q", "w")
    assert claimed.id == "a"
    assert claimed.envelope == b"\0envelope\xff"
    assert (claimed.attempt, claimed.queue) == (1, "q")
    assert (claimed.retries, claimed.timeout_s, claimed.backoff) == (4, 2.5, Backoff(0.25, 8.0))


@pytest.mark.parametrize("bad", ["", "has space", "ü", "x" * 129, "a\n", "a/../b\0", None, 7])
def test_a_bad_invocation_id_is_refused_with_the_grammar(plane, bad):
    with pytest.raises(ConfigError, match="1 to 128 letters"):
        plane.submit("q", b"e", id=bad)


@pytest.mark.parametrize("bad", ["", "-leading", "a b", "a/b", "q\n", "x" * 129, None])
def test_a_bad_queue_name_is_refused_with_the_grammar(plane, bad):
    with pytest.raises(ConfigError, match="beginning with a letter or digit"):
        plane.submit(bad, b"e", id="a")


@pytest.mark.parametrize("field", ["priority", "delay_s", "timeout_s", "deadline"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(plane, field, bad):
    with pytest.raises(ConfigError, match=field):
        plane.submit("q", b"e", id="a", config=RunConfig(**{field: bad}))


@pytest.mark.parametrize("state", ["draining", "paused", "archived"])
def test_a_queue_that_takes_no_work_says_how_to_open_it(plane, submit, state):
    submit("a")
    plane.set_queue_state("q", state)
    with pytest.raises(QueueUnavailableError, match=rf"'q' is {state}.*lakeshore queues unarchive q"):
        submit("b")
    assert plane.get("b") is None
    plane.set_queue_state("q", "active")
    assert submit("b") == ["b"]


def test_repeating_a_submission_to_a_closed_queue_still_answers(plane, submit):
    plane.submit("q", b"1", id="a", key="k")
    plane.set_queue_state("q", "archived")
    assert plane.submit("q", b"1", id="b", key="k") == "a"
