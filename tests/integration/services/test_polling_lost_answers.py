"""A poll whose answer never reaches its worker costs no attempt: connections cut, requests twice, another replica."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from poll_stand import LIMIT_S, claim_name, runs, sites, until
from servers.balancer import Balancer
from servers.partition import Partition

FREE = ("queued", 0, 0, None)


@pytest.fixture
def site(mongo_url, mongo_database):
    with sites(mongo_url=mongo_url, mongo_database=mongo_database) as (one,):
        yield one


@pytest.fixture
def pair(mongo_url, mongo_database, redis_url):
    """Two replicas that hear each other."""
    with sites(2, mongo_url=mongo_url, mongo_database=mongo_database, redis_url=redis_url) as both:
        until(lambda: not any(one.plane.polling._bells.degraded for one in both), "they hear each other")
        yield both


@pytest.fixture
def net(site):
    with Partition(site.port) as made:
        yield made


def unanswered(site, net, *ids, **poll):
    """Submit, and let a poll claim it all whose answer stays on its way; the poll's body."""
    body = {"claim_id": claim_name(), **poll}
    site.submit(*ids)
    net.cut_towards_client()
    site.poll(port=net.port, **body)
    until(lambda: all(site.brief(name)[0] == "running" for name in ids), "it is claimed")
    return body


def test_a_worker_that_is_gone_is_not_given_the_next_job(site):
    gone = site.waiting_poll("gone")
    gone.cut()
    site.until_waiting(0)
    site.submit("a")
    assert site.brief("a") == FREE
    assert site.poll("here").ran() == [("a", 1)]


def test_a_worker_behind_a_connection_that_breaks_is_not_given_the_next_job(site, net):
    site.waiting_poll("gone", port=net.port)
    net.reset()
    site.until_waiting(0)
    site.submit("a")
    assert site.poll("here").ran() == [("a", 1)]


def test_a_job_that_was_claimed_for_a_worker_that_went_meanwhile_goes_to_the_next(site):
    """Whatever a poll is doing when its connection ends: after a moment its row is free, and its attempt not spent."""
    free = 0
    for turn in range(30):
        name = f"job{turn}"
        site.submit(name)
        answered = site.polls_answered()
        poll = site.poll("gone", wait=0.5)
        time.sleep(turn / 10_000)
        poll.cut()
        until(lambda: site.polls_answered() > answered, "it is answered")  # noqa: B023
        if site.brief(name) == FREE:
            free += 1
            assert site.poll("here", wait=LIMIT_S).ran() == [(name, 1)]
        else:  # the answer had gone out before
            assert site.brief(name) == ("running", 1, 0, "gone")
            assert site.ack(name, "gone") == 200
    assert free


def test_a_retry_gets_the_rows_that_the_lost_answer_held(site, net):
    body = unanswered(site, net, "a", "b", max=2)
    site.submit("c")
    assert site.poll(again=True, **body).ran() == [("a", 1), ("b", 1)]
    assert site.poll(again=True, **body).ran() == [("a", 1), ("b", 1)], "as often as it takes"
    assert site.ack("a") == 200
    assert site.poll(again=True, **body).ran() == [("b", 1)], "what has ended is not handed out again"
    assert site.poll().ran() == [("c", 1)]


def test_a_retry_on_another_replica_gets_the_same_rows(pair):
    one, two = pair
    with Partition(one.port) as net:
        body = unanswered(one, net, "a", "b", max=2)
        two.submit("c")
        assert two.poll(again=True, **body).ran() == [("a", 1), ("b", 1)]
        net.reset()
        until(lambda: net.connections == 0, "the first replica knows that its answer reached nobody")
    assert [two.brief(name) for name in "ab"] == [("running", 1, 0, "w")] * 2
    assert two.poll("other").ran() == [("c", 1)]


def test_a_retry_renews_the_leases_that_ran_down_meanwhile(site, net):
    body = unanswered(site, net, "a", lease_s=20.0)
    before = site.row("a")["lease_until"]
    assert site.poll(again=True, **body | {"lease_s": 60.0}).ran() == [("a", 1)]
    assert site.row("a")["lease_until"] > before + 30


def test_rows_that_were_lost_meanwhile_are_not_handed_out_again(site, net):
    body = unanswered(site, net, "a", lease_s=0.2)
    assert site.poll("thief", wait=LIMIT_S).ran() == [("a", 2)]
    site.submit("b")
    assert site.poll(again=True, **body).ran() == []
    assert site.brief("b") == FREE, "the first answer was all that this claim gets"


def test_a_retry_whose_first_request_never_arrived_claims(site):
    site.submit("a")
    assert site.poll(claim_id=claim_name(), again=True).ran() == [("a", 1)]


def test_names_of_claims_are_each_workers_own(site):
    site.submit("a", "b")
    assert site.poll("w1", claim_id="same").ran() == [("a", 1)]
    assert site.poll("w2", claim_id="same", again=True).ran() == [("b", 1)]
    assert site.poll("w1", claim_id="sam", again=True).ran() == []


def test_a_request_that_arrives_twice_claims_once(site):
    site.submit(*[f"job{n}" for n in range(4)])
    body = {"claim_id": claim_name(), "max": 2}
    polls = [site.poll(**body) for _ in range(3)]
    answers = [poll.ran() for poll in polls]
    assert answers == [[("job0", 1), ("job1", 1)]] * 3
    assert site.poll(**body).ran() == answers[0], "later too"
    assert site.brief("job2") == FREE


def test_a_request_that_arrives_twice_waits_once_and_both_hear(site):
    body = {"claim_id": claim_name()}
    first = site.waiting_poll(**body)
    second = site.poll(wait=LIMIT_S, **body)
    site.submit("a", "b")
    assert first.ran() == second.ran() == [("a", 1)]
    assert site.brief("b") == FREE


def test_a_retry_that_comes_while_the_first_request_still_waits_takes_its_place(site):
    body = {"claim_id": claim_name()}
    first = site.waiting_poll(**body)
    retry = site.poll(wait=LIMIT_S, again=True, **body)
    first.cut()
    site.submit("a")
    assert retry.ran() == [("a", 1)]
    assert site.brief("a") == ("running", 1, 0, "w")


def test_a_poll_that_is_made_again_on_another_replica_waits_on_the_first_no_more(pair):
    one, two = pair
    body = {"claim_id": claim_name()}
    with Partition(one.port) as net:
        one.waiting_poll(port=net.port, **body)
        net.cut()  # nobody tells the first replica
        retry = two.waiting_poll(again=True, **body)
        one.until_waiting(0)
        two.submit("a")
        assert retry.ran() == [("a", 1)]
    assert two.brief("a") == ("running", 1, 0, "w")


def test_an_end_that_rides_on_a_poll_made_again_is_taken_once(site, net):
    site.submit("done")
    site.poll().ran()
    end = {
        "invocation_id": "done",
        "attempt": 1,
        "state": "succeeded",
        "result_blob": b"r",
        "report_id": "r1",
    }
    body = unanswered(site, net, "next", acks=[end])
    answer = site.poll(again=True, **body).value()
    assert (answer["fenced"], [c["body"]["invocation_id"] for c in answer["commands"]]) == ([], ["next"])
    assert site.brief("done")[:2] == ("succeeded", 1)


def test_ends_that_a_poll_brings_only_when_it_is_made_again_are_taken_too(site):
    site.submit("done")
    site.poll().ran()
    body = {"claim_id": claim_name()}
    first = site.waiting_poll(**body)
    end = {"invocation_id": "done", "attempt": 1, "state": "succeeded", "result_blob": b"r"}
    again = site.poll(wait=LIMIT_S, again=True, acks=[end], **body)
    until(lambda: site.brief("done")[0] == "succeeded", "the end is taken")
    site.submit("next")
    assert first.ran() == again.ran() == [("next", 1)]


@pytest.mark.parametrize("name", ["", "a:b", "x" * 65, "späße", 7])
def test_a_name_that_cannot_be_one_is_refused(site, name):
    status, value = site.poll(claim_id=name).reply()
    assert (status, value["error"]["type"]) == (400, "bad_request")


def test_no_attempt_is_lost_however_often_answers_are(pair):
    """Workers behind a balancer whose connections keep breaking: each job runs once, as attempt 1."""
    jobs = [f"job{n}" for n in range(60)]
    pair[0].submit(*jobs)
    ran = []
    with Balancer(*[one.port for one in pair]) as net:
        for turn in range(10_000):
            body = {"claim_id": claim_name(), "max": 1 + turn % 4}
            found = _poll_until_answered(pair[0], net, body, breaks=turn % 3)
            if not found:
                break
            ran += found
            for name, attempt in found:
                assert pair[turn % 2].ack(name, attempt=attempt) == 200
    assert sorted(ran) == sorted((name, 1) for name in jobs)


def _poll_until_answered(site, net, body, breaks):
    """Send a poll again and again: ``breaks`` times its connection breaks after a moment."""
    for number in range(breaks):
        poll = site.poll(port=net.port, again=number > 0, **body)
        time.sleep(0.001 * (1 + number * 3))
        net.reset()
        poll.cut()
    return site.poll(port=net.port, again=breaks > 0, **body).ran()


def test_workers_whose_connections_keep_breaking_run_each_job_once(pair):
    """Long polls behind a balancer while everything that is open breaks again and again; leases are long."""
    jobs = [f"job{n}" for n in range(200)]
    floor = Floor(jobs)
    with Balancer(*[one.port for one in pair]) as net, ThreadPoolExecutor(8) as pool:
        working = [pool.submit(floor.work, pair[n % 2], net, f"w{n}") for n in range(6)]
        for turn in range(20):
            pair[turn % 2].submit(*jobs[turn * 10 : turn * 10 + 10])
            net.reset()
        try:
            until(lambda: _break_now_and_then(net, working) or floor.finished, "all jobs ran")
        finally:
            floor.closed = True
    assert sorted(floor.ran) == sorted((name, 1) for name in jobs)


def _break_now_and_then(net, working):
    """Break all connections; raises what a worker failed with."""
    time.sleep(0.03)
    net.reset()
    for one in working:
        if one.done():
            one.result()


class Floor:
    """Where workers run jobs, and everybody sees what runs."""

    def __init__(self, jobs):
        self._jobs = jobs
        self._guard = threading.Lock()
        self._running = set()
        self.ran = []
        self.closed = False

    @property
    def finished(self):
        return self.closed or len(self.ran) >= len(self._jobs)

    def work(self, site, net, worker):
        while not self.finished:
            for name, attempt in self._claims(site, net, worker):
                with self._guard:
                    assert name not in self._running, "it runs already"
                    self._running.add(name)
                time.sleep(0.001)
                assert site.ack(name, worker, attempt) == 200
                with self._guard:
                    self._running.discard(name)
                    self.ran.append((name, attempt))

    def _claims(self, site, net, worker):
        body = {"claim_id": claim_name(), "max": 2}
        again = False
        while not self.finished:
            with contextlib.suppress(OSError):
                poll = site.poll(worker, wait=0.5, port=net.port, again=again, **body)
                status, answer = poll.reply()
                if status == 200:
                    return runs(answer)
                assert status == 503, answer
            again = True
        return []
