"""Many polls that wait: each job wakes one of them, and whoever waits costs little."""

import asyncio
import time

import pytest

from keeping_replica import KeepingReplicas
from lakeshore_controlplane.services.polling import Polling, PollRequest
from lakeshore_controlplane.store.bells.port import Ring

LIMIT_S = 30


class There:
    """A worker that is there until it leaves."""

    def __init__(self):
        self.gone = False
        self._left = None

    def watch(self, left):
        self._left = left

    async def has_left(self):
        return self.gone

    def leave(self):
        self.gone = True
        self._left()


class CountedClaims:
    """Notes who claims."""

    def __init__(self, claiming):
        self._claiming = claiming
        self.made = []

    async def claim(self, namespace, name, worker_id, n, **options):
        self.made.append(worker_id)
        return await self._claiming.claim(namespace, name, worker_id, n, **options)


class Herd:
    """Polls on one replica's services."""

    def __init__(self, replica):
        self.replica = replica
        self.claims = CountedClaims(replica.claiming)
        self.stopped = False
        self.polling = Polling(
            claiming=self.claims,
            finishing=replica.finishing,
            leasing=replica.leasing,
            workers=replica.workers,
            payloads=replica.payloads,
            bells=replica.bells,
            stopping=lambda: self.stopped,
        )
        self.askers = []
        self.polls = []

    async def wait(self, count, queues=("q",), **options):
        """Begin polls, and come back when they wait."""
        for _ in range(count):
            self.askers.append(There())
            request = PollRequest(f"w{len(self.polls)}", queues, LIMIT_S, lease_s=30.0, **options)
            self.polls.append(asyncio.ensure_future(self.polling.poll("ns", request, self.askers[-1])))
        await self.until(lambda: self.polling.waiting == self.open)
        self.claims.made.clear()

    @property
    def open(self):
        return sum(not poll.done() for poll in self.polls)

    async def submit(self, *ids, queue="q"):
        await self.replica.submit(*ids, queue=queue)
        self.replica.bells.ring([Ring(f"work:ns/{queue}")])

    def given(self):
        """What each poll that is answered got."""
        found = [poll.result().commands for poll in self.polls if poll.done()]
        return [[command["body"]["invocation_id"] for command in commands] for commands in found]

    async def until(self, holds):
        ends = time.monotonic() + LIMIT_S
        while not holds():
            assert time.monotonic() < ends, f"waited {LIMIT_S} s"
            await asyncio.sleep(0.001)

    async def quiet(self):
        """Wait until nobody claims any more."""
        await self.until(lambda: self.polling.waiting == self.open)

    async def close(self):
        self.stopped = True
        self.replica.bells.ring_all()
        await asyncio.gather(*self.polls, return_exceptions=True)


@pytest.fixture
def run(mongo_url, mongo_database, tmp_path):
    """``run(test)``: run ``async test(herd)`` with a warm queue ``q``."""

    def run(test):
        async def opened(one):
            await one.submit("first")
            await one.warm()
            await one.claim("nobody")
            herd = Herd(one)
            try:
                await test(herd)
            finally:
                await herd.close()

        KeepingReplicas(mongo_url, mongo_database, tmp_path / "blobs").run(opened)

    return run


def test_one_job_for_a_thousand_polls_goes_to_one_and_few_look(run):
    async def test(herd):
        await herd.wait(1000)
        began = time.monotonic()
        await herd.submit("job")
        await herd.until(lambda: herd.given() == [["job"]])
        took = time.monotonic() - began
        await herd.quiet()
        assert len(herd.claims.made) <= 3
        assert took < 1.0
        assert herd.open == 999

    run(test)


def test_a_batch_wakes_as_many_as_there_are_jobs(run):
    async def test(herd):
        await herd.wait(300)
        jobs = [f"job{n:03}" for n in range(200)]
        await herd.submit(*jobs)
        await herd.until(lambda: len(herd.given()) == 200)
        await herd.quiet()
        assert sorted(herd.given()) == [[job] for job in jobs]
        assert len(herd.claims.made) <= 2 * len(jobs) + 1

    run(test)


def test_the_longest_waiting_poll_is_first(run):
    async def test(herd):
        for _ in range(5):
            await herd.wait(1)
        await herd.submit("job")
        await herd.until(herd.given)
        assert herd.claims.made[0] == "w0"
        assert herd.polls[0].done()

    run(test)


def test_a_poll_that_is_gone_when_it_is_called_lets_the_next_one_look(run):
    async def test(herd):
        await herd.wait(3)
        herd.askers[0].leave()
        herd.askers[1].leave()
        await herd.submit("job")
        await herd.until(herd.polls[2].done)
        assert herd.given() == [[], [], ["job"]]
        assert herd.claims.made == ["w2"]

    run(test)


def test_a_poll_that_goes_while_it_claims_hands_the_job_to_the_next(run):
    async def test(herd):
        await herd.wait(2)
        await herd.submit("job")
        await herd.until(herd.claims.made.__len__)
        herd.askers[0].gone = True
        await herd.until(lambda: all(poll.done() for poll in herd.polls))
        assert herd.given() == [[], ["job"]]
        row = await herd.replica.row("job")
        assert (row["attempt"], row["crashes"], row["workerId"]) == (1, 0, "w1")

    run(test)


def test_polls_of_several_queues_are_woken_by_each(run):
    async def test(herd):
        await herd.wait(2, queues=["q", "r"])
        await asyncio.gather(herd.submit("a", queue="q"), herd.submit("b", queue="r"))
        await herd.until(lambda: len(herd.given()) == 2)
        assert sorted(herd.given()) == [["a"], ["b"]]

    run(test)


def test_a_job_that_comes_while_all_look_is_found(run):
    """Rings and claims cross in every way: none is missed, though nobody looks again for seconds."""

    async def test(herd):
        for turn in range(40):
            waiting = asyncio.ensure_future(herd.wait(1))
            await asyncio.sleep(turn / 20_000)
            began = time.monotonic()
            await herd.submit(f"job{turn}")
            await herd.until(lambda: [f"job{turn}"] in herd.given())  # noqa: B023
            assert time.monotonic() - began < 2
            await waiting

    run(test)


def test_nothing_is_kept_of_polls_that_have_ended(run):
    async def test(herd):
        await herd.wait(50, queues=["q", "r"])
        assert len(herd.polling._lines.of) == 2
        await herd.close()
        assert herd.polling._lines.of == {}
        assert herd.replica.bells._listeners == {}
        assert herd.given() == [[]] * 50

    run(test)
