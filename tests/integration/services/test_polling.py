"""What a poll does for its worker, over HTTP on one replica."""

import time

import pytest

from poll_stand import LIMIT_S, kinds, runs, sites, until


@pytest.fixture
def site(mongo_url, mongo_database):
    with sites(mongo_url=mongo_url, mongo_database=mongo_database) as (one,):
        yield one


@pytest.fixture
def blob_site(mongo_url, mongo_database, tmp_path):
    """A replica that keeps arguments of more than 8 bytes in a folder."""
    blobs = {"blobs": "folder", "blob_folder": str(tmp_path / "blobs"), "inline_limit": 8}
    with sites(mongo_url=mongo_url, mongo_database=mongo_database, **blobs) as (one,):
        yield one


def soon(answer_s):
    """A wake-up takes milliseconds; machines that do much else at once take a moment more."""
    return answer_s < 1.0


def end_of(inv_id, attempt=1, **more):
    return {"invocation_id": inv_id, "attempt": attempt, "state": "succeeded", "result_blob": b"r", **more}


def test_ends_ride_on_a_poll_and_are_taken_before_the_claim(site):
    site.submit("a", "b")
    assert site.poll().ran() == [("a", 1)]
    assert site.poll(acks=[end_of("a")]).ran() == [("b", 1)]
    assert site.brief("a")[0] == "succeeded"
    answer = site.poll(acks=[end_of("b"), end_of("a", attempt=7)]).value()
    assert (answer["commands"], answer["fenced"]) == ([], ["a"])
    assert site.brief("b")[0] == "succeeded"


def test_ends_are_taken_at_once_though_no_work_comes(site):
    site.submit("a")
    site.poll().ran()
    waiting = site.poll(wait=LIMIT_S, acks=[end_of("a")])
    until(lambda: site.brief("a")[0] == "succeeded", "the end is taken")
    site.submit("b")
    assert waiting.ran() == [("b", 1)]


def test_a_retried_attempt_can_come_back_on_the_poll_that_brought_its_end(site):
    site.submit("a")
    site.poll().ran()
    failed = {"invocation_id": "a", "attempt": 1, "state": "failed", "retry": True}
    assert site.poll(acks=[failed | {"error": {"type": "E", "message": "m"}}]).ran() == [("a", 2)]


def test_an_order_to_drain_comes_before_a_claim(site):
    site.hello()
    site.submit("a")
    site.order("w", "drain")
    answer = site.poll().value()
    assert kinds(answer) == ["hibernate"]
    assert answer["commands"][0]["body"] == {"reason": "drain"}
    assert site.brief("a") == ("queued", 0, 0, None)


def test_an_order_to_drain_is_heard_at_once_while_waiting(site):
    site.hello()
    waiting = site.waiting_poll()
    began = time.monotonic()
    site.order("w", "drain")
    assert kinds(waiting.value()) == ["hibernate"]
    assert soon(time.monotonic() - began)


def test_a_cordoned_worker_gets_nothing_until_it_is_uncordoned(site):
    site.hello()
    site.submit("a")
    site.order("w", "cordon")
    assert site.poll().ran() == []
    waiting = site.waiting_poll()
    site.order("w", "uncordon")
    assert waiting.ran() == [("a", 1)]


def test_a_worker_that_is_cordoned_while_it_waits_gets_nothing_and_others_do(site):
    site.hello()
    waiting = site.waiting_poll(wait=1.0)
    other = site.waiting_poll("other")
    site.order("w", "cordon")
    site.submit("a")
    assert other.ran() == [("a", 1)]
    assert waiting.ran() == []


def test_a_busy_queue_does_not_keep_a_worker_from_its_other_queues(site):
    site.submit(*[f"busy{n}" for n in range(20)], queue="busy")
    site.submit(*[f"calm{n}" for n in range(3)], queue="calm")
    taken = [site.poll(queues=["busy", "calm"]).ran()[0][0] for _ in range(6)]
    assert sum(name.startswith("calm") for name in taken) == 3


def test_one_poll_takes_from_several_queues(site):
    site.submit("a", queue="one")
    site.submit("b", queue="two")
    assert sorted(site.poll(queues=["one", "two", "one"], max=5).ran()) == [("a", 1), ("b", 1)]


def test_work_in_any_of_its_queues_wakes_a_poll(site):
    for queue in ("one", "two"):
        waiting = site.waiting_poll(queues=["one", "two"])
        site.submit(f"in-{queue}", queue=queue)
        assert waiting.ran() == [(f"in-{queue}", 1)]


def test_a_client_without_leases_gets_the_queues_long_one(site):
    site.submit("a")
    asked = {"worker_id": "old", "queue": "q"}
    (run,) = runs(site.ask("daemon/poll", asked))
    assert run == ("a", 1)
    row = site.row("a")
    assert row["lease_until"] - row["started_at"] == pytest.approx(86_400.0)


def test_max_bounds_what_one_poll_takes(site):
    site.submit(*"abcde")
    assert [name for name, _ in site.poll(max=3).ran()] == ["a", "b", "c"]
    assert site.poll(max=0, wait=LIMIT_S).ran() == []
    assert [name for name, _ in site.poll(max=10, wait=LIMIT_S).ran()] == ["d", "e"]


def test_a_poll_that_may_not_wait_says_when_to_come_again(site):
    assert site.poll().value()["next_due_s"] is None
    site.submit("late", delay_s=50.0)
    assert 40 < site.poll().value()["next_due_s"] <= 50


def test_a_submission_wakes_a_poll_within_50_ms(site):
    took = []
    for turn in range(10):
        waiting = site.waiting_poll()
        site.submit(f"job{turn}")
        began = time.monotonic()
        assert waiting.ran() == [(f"job{turn}", 1)]
        took.append(time.monotonic() - began)
    assert min(took) < 0.05  # a machine with other work may be late, but not each time


def test_a_delay_that_ends_wakes_a_poll(site):
    site.submit("late", delay_s=0.4)
    began = time.monotonic()
    assert site.waiting_poll().ran() == [("late", 1)]
    assert 0.2 < time.monotonic() - began < 2.5


def test_a_delay_that_begins_while_it_waits_wakes_a_poll(site):
    waiting = site.waiting_poll()
    site.submit("late", delay_s=0.3)
    began = time.monotonic()
    assert waiting.ran() == [("late", 1)]
    assert 0.2 < time.monotonic() - began < 2.5


def test_a_lease_that_runs_out_wakes_a_poll(site):
    site.submit("a")
    site.poll("frozen", lease_s=0.5).ran()
    waiting = site.waiting_poll()
    began = time.monotonic()
    assert waiting.ran() == [("a", 2)]
    assert time.monotonic() - began < 3
    assert site.brief("a") == ("running", 2, 1, "w")


def test_a_lease_that_begins_while_it_waits_wakes_a_poll_when_it_runs_out(site):
    polls = [site.waiting_poll("w1", lease_s=0.5), site.waiting_poll("w2", lease_s=0.5)]
    site.submit("a")
    began = time.monotonic()
    assert sorted(name for poll in polls for name in poll.ran()) == [("a", 1), ("a", 2)]
    assert time.monotonic() - began < 3


def test_a_queue_that_is_resumed_wakes_a_poll(site):
    site.submit("a")
    site.queue_state("paused")
    waiting = site.waiting_poll()
    began = time.monotonic()
    site.queue_state("active")
    assert waiting.ran() == [("a", 1)]
    assert soon(time.monotonic() - began)


def test_a_poll_that_finds_nothing_ends_when_it_was_told_to(site):
    began = time.monotonic()
    assert site.poll(wait=0.3).ran() == []
    assert 0.3 <= time.monotonic() - began < 2


def test_a_replica_that_stops_answers_empty_at_once(site):
    waiting = [site.waiting_poll(f"w{n}") for n in range(3)]
    began = time.monotonic()
    site.begin_stop()
    assert [poll.ran() for poll in waiting] == [[], [], []]
    assert soon(time.monotonic() - began)
    assert site.poll(wait=LIMIT_S).ran() == []


def test_arguments_that_are_lost_fail_their_row_alone(blob_site, tmp_path):
    blob_site.ask("producer/submit", {"invocation_id": "lost", "queue": "q", "args_blob": b"l" * 100})
    blob_site.submit("kept")
    for blob in (tmp_path / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    assert blob_site.poll(max=2).ran() == [("kept", 1)]
    row = blob_site.row("lost")
    assert (row["state"], row["error"]["type"]) == ("failed", "PayloadLost")


def test_arguments_that_cannot_be_had_now_send_their_row_back(blob_site, tmp_path):
    blob_site.ask("producer/submit", {"invocation_id": "a", "queue": "q", "args_blob": b"a" * 100})
    (blob,) = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    aside = blob.rename(tmp_path / "aside")
    blob.mkdir()
    status, value = blob_site.poll(wait=LIMIT_S).reply()
    assert (status, value["error"]["type"]) == (503, "store_unavailable")
    assert blob_site.brief("a") == ("queued", 0, 0, None)
    blob_site.submit("b")
    assert blob_site.poll().ran() == [("b", 1)], "others run meanwhile"
    blob.rmdir()
    aside.rename(blob)
    assert blob_site.poll(wait=LIMIT_S).ran() == [("a", 1)]
