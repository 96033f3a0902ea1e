"""Payloads posted to a queue and taken by hand."""

import threading
import time

import pytest

from dreamlake.lakeshore import SyncQueue, wire
from dreamlake.lakeshore.errors import FencedError, InvocationFailedError, WireError
from dreamlake.lakeshore.queue import Job


@pytest.fixture
def q(plane):
    return SyncQueue("payloads", dispatch=plane)


@pytest.mark.parametrize("value", [1, None, "text", {"v": 1, "fn": {}}, (1, 2), [1], b"\x91\x01"])
def test_a_posted_value_is_claimed_as_it_was(q, value):
    inv = q.post(value)
    job = q.claim()
    assert isinstance(job, Job)
    assert (job.id, job.payload, job.attempt, job.queue) == (inv, value, 1, "payloads")
    assert type(job.payload) is type(value)
    assert q.claim() is None


def test_a_submitted_call_is_claimed_as_its_envelope(q):
    inv = q.submit(max, 1, 2)
    payload = q.claim().payload
    assert isinstance(payload, wire.Envelope)
    assert (payload.id, payload.arguments()) == (inv, ([1, 2], {}))


def test_bytes_that_are_neither_are_a_wire_error_when_looked_at(q, plane):
    plane.submit("payloads", b"\xc1", id="0" * 26)
    job = q.claim()
    with pytest.raises(WireError):
        job.payload


def test_ack_gives_the_result_to_whoever_waits(q):
    inv = q.post("work")
    q.ack(q.claim(), {"done": True})
    assert q.result(inv) == {"done": True}


def test_nack_queues_again_or_fails(q):
    inv = q.post("work")
    q.nack(q.claim(), "not now")
    job = q.claim()
    assert job.attempt == 2
    q.nack(job, ValueError("never"), retry=False)
    with pytest.raises(InvocationFailedError, match="ValueError: never"):
        q.result(inv)


def test_working_acks_at_the_end_of_the_block(q):
    inv = q.post("work")
    with q.working() as job:
        assert job.payload == "work"
    assert q.result(inv) is None
    assert q.count("succeeded") == 1


def test_working_takes_a_job_that_was_claimed_before(q):
    q.post("work")
    job = q.claim()
    with q.working(job) as same:
        assert same is job
    assert q.count("succeeded") == 1


def test_working_nacks_when_the_block_raises_and_the_exception_goes_on(q):
    inv = q.post("work")
    for attempt in (1, 2):
        with pytest.raises(KeyError), q.working() as job:
            assert job.attempt == attempt
            raise KeyError("lost")
    with pytest.raises(InvocationFailedError, match="KeyError"):
        q.result(inv)


def test_an_interrupted_block_queues_its_job_again_however_often_it_was_tried(q):
    q.post("work")
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), q.working():
            raise KeyboardInterrupt
    assert (q.count("queued"), q.count("failed")) == (1, 0)


def test_working_gives_none_when_there_is_nothing(q):
    with q.working() as job:
        assert job is None


def test_a_result_given_inside_the_block_stands(q):
    inv = q.post(3)
    with q.working() as job:
        q.ack(job, job.payload * 2)
    assert q.result(inv) == 6


def test_the_lease_is_renewed_while_the_block_runs(q, plane):
    q.post("long")
    other = SyncQueue("payloads", dispatch=plane)
    with q.working(lease_s=0.3):
        ends = time.monotonic() + 1.0
        while time.monotonic() < ends:
            assert other.claim(timeout=0.1) is None
    assert q.count("succeeded") == 1


def test_a_consumer_whose_lease_ran_out_cannot_ack(q, plane):
    q.post("slow")
    late = q.claim(lease_s=0.05)
    other = SyncQueue("payloads", dispatch=plane)
    job = other.claim(timeout=10)
    assert job.attempt == 2
    with pytest.raises(FencedError):
        q.ack(late)
    other.ack(job)
    assert q.count("succeeded") == 1


def test_a_block_that_raises_after_its_lease_was_lost_raises_its_own_exception(q, plane):
    q.post("slow")
    job = q.claim(lease_s=0.05)
    assert SyncQueue("payloads", dispatch=plane).claim(timeout=10).attempt == 2
    with pytest.raises(KeyError) as caught, q.working(job):
        raise KeyError("mine")
    assert "lease" in caught.value.__notes__[0]


def test_claim_waits_for_what_is_posted_later(q):
    found = []
    thread = threading.Thread(target=lambda: found.append(q.claim(timeout=20)))
    thread.start()
    q.post("late")
    thread.join(20)
    assert [job.payload for job in found] == ["late"]


def test_claim_gives_up_after_its_timeout(q):
    started = time.monotonic()
    assert q.claim(timeout=0.05) is None
    assert 0.04 <= time.monotonic() - started < 5


def test_a_worker_that_meets_a_payload_fails_it_and_lives(q, plane, work_on):
    inv = q.post("for a consumer")
    work_on(plane, "payloads", retries=0)
    with pytest.raises(InvocationFailedError, match="envelope"):
        q.result(inv)
    assert q.call(max, 1, 2) == 2


def test_claims_follow_the_kind_of_the_queue_object(plane):
    filo = SyncQueue("payloads", dispatch=plane, kind="filo")
    for n in range(3):
        filo.post(n)
    assert [filo.claim().payload for _ in range(3)] == [2, 1, 0]
