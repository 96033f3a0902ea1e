"""From a submission to its row: what clients wrote, read on the plane's clock."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshore_controlplane.faults import BadRequest, IdConflict
from lakeshore_controlplane.services.repeats import KnownRows, known_of, repeats_in
from lakeshore_controlplane.services.submission import Moment, Submission, Submitted, id_of, queue_of, row_of

NOW = Moment(now=5000.0, wall=1_800_000_000.0, order=7)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,12}", fullmatch=True)
finite = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(1 << 60), 1 << 60)
odd = st.none() | st.booleans() | st.text() | st.lists(st.integers()) | st.sampled_from([math.nan, math.inf])
submissions = st.builds(
    Submission,
    id=names,
    queue=names,
    args=st.binary(max_size=20),
    run_config=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)
    .map(lambda extra: {k: v for k, v in extra.items() if k not in {"delay_s", "deadline", "timeout_s"}})
    .flatmap(lambda extra: st.fixed_dictionaries({}, optional={"key": names}).map(lambda more: extra | more)),
    parent=st.none() | names,
)


def planned(submission=None, root="r", moment=NOW, priority_field=None, **run_config):
    submission = submission or Submission("a", "q", b"x", run_config=run_config)
    return row_of("ns", submission, moment, root=root, priority_field=priority_field)


@given(submissions, names)
def test_a_row_keeps_what_was_submitted(submission, root):
    row = planned(submission, root)
    assert (row["_id"], id_of(row), queue_of(row)) == (f"ns/{submission.id}", submission.id, submission.queue)
    assert row["runConfig"] == {**submission.run_config, "queue": submission.queue}
    assert row["argsBlob"] == submission.args
    assert row.get("parentInvocationId") == submission.parent
    assert row["rootInvocationId"] == root
    assert row.get("idempotencyKey") == submission.run_config.get("key")
    assert (row["state"], row["attempt"], row["crashes"], row["order"]) == ("queued", 0, 0, 7)
    assert math.isfinite(row["priority"])


@given(submissions)
def test_a_submission_is_not_changed_by_planning_it(submission):
    before = dict(submission.run_config)
    planned(submission)
    assert submission.run_config == before


@given(finite)
def test_a_finite_priority_counts_as_it_is(priority):
    assert planned(priority=priority)["priority"] == float(priority)


@given(odd | st.just(10**400))
def test_an_odd_priority_counts_as_0(priority):
    assert planned(priority=priority)["priority"] == 0.0


def test_another_field_may_be_the_priority():
    assert planned(priority=1.0, p=3, priority_field="p")["priority"] == 3.0
    assert planned(priority=1.0, priority_field="p")["priority"] == 0.0


@given(st.floats(-1e6, 1e6))
def test_a_delay_puts_off_the_start_and_a_negative_one_does_not(delay_s):
    assert planned(delay_s=delay_s)["dueAt"] == NOW.now + max(0.0, delay_s)


@given(st.floats(0, 4e9), st.floats(0, 4e9))
def test_a_deadline_is_as_far_away_on_the_planes_clock_as_on_the_wall(deadline, wall):
    row = planned(moment=NOW._replace(wall=wall), deadline=deadline)
    assert row["deadlineAt"] - NOW.now == pytest.approx(deadline - wall, abs=1e-3)


def test_a_deadline_is_read_by_the_clock_that_it_was_written_by():
    """A producer's clock may be an hour off: what it calls in ten seconds is in ten seconds."""
    hour_off = NOW.wall + 3600
    late = Submission("a", "q", b"x", run_config={"deadline": hour_off + 10}, written_at=hour_off)
    row = planned(late)
    assert row["deadlineAt"] - NOW.now == pytest.approx(10, abs=1e-3)


@given(
    st.sampled_from(["delay_s", "deadline", "timeout_s"]),
    odd.filter(lambda v: v is not None) | st.just(10**400),
)
def test_a_number_that_is_none_is_refused_by_name(field, value):
    with pytest.raises(BadRequest, match=rf"^{field} .*: use a finite number$") as refused:
        planned(**{field: value})
    assert len(str(refused.value)) < 200


def test_a_submission_without_arguments_is_refused():
    with pytest.raises(BadRequest, match="args_blob or args_ref"):
        planned(Submission("a", "q"))


@given(st.lists(submissions, max_size=8))
def test_of_a_batch_every_id_and_every_key_of_a_queue_is_stored_once(batch):
    rows = [planned(item) for item in batch]
    again = repeats_in(rows)
    fresh = [row for place, row in enumerate(rows) if place not in again]
    assert len({row["_id"] for row in fresh}) == len(fresh)
    keys = [(queue_of(row), row["idempotencyKey"]) for row in fresh if "idempotencyKey" in row]
    assert len(set(keys)) == len(keys)
    known = {id_of(row) for row in fresh}
    assert all(answer.id in known for answer in again.values() if isinstance(answer, Submitted))


@given(submissions, st.binary(max_size=20))
def test_an_id_is_the_same_work_only_with_the_same_queue_arguments_and_key(submission, other):
    known = KnownRows([known_of(planned(submission))])
    assert known.answer(planned(submission)) == Submitted(submission.id, submission.queue, duplicate=True)
    changed = planned(submission._replace(args=other, run_config={}))
    same = other == submission.args and "key" not in submission.run_config
    assert isinstance(known.answer(changed), Submitted if same else IdConflict)
    ref = planned(submission._replace(args=None, args_ref=submission.args.hex() or "r", run_config={}))
    assert isinstance(known.answer(ref), IdConflict)
