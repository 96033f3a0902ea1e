"""Reports wait, in order, until the plane takes them; a worker that has many waiting reads no more of them."""

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.plane import Finished, Frame
from dreamlake.lakeshore.errors import DispatchError
from dreamlake.lakeshore.worker.backlog import Backlog
from dreamlake.lakeshore.worker.counters import Counters
from dreamlake.lakeshore.worker.leases import Leases
from dreamlake.lakeshore.worker.options import WorkerOptions
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, LogReport


class Refusing(Dispatch):
    """A plane that takes nothing while ``full``."""

    full = False

    def ack_many(self, worker_id, items):
        if self.full:
            raise DispatchError("no space left")
        return super().ack_many(worker_id, items)


@pytest.fixture
def plane():
    opened = Refusing(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def counters():
    return Counters()


@pytest.fixture
def leases(plane, counters, tmp_path):
    return Leases(plane, "q", WorkerOptions(root=tmp_path), counters)


def claim(plane, leases, inv_id):
    plane.submit("q", b"e", id=inv_id)
    (job,) = leases.claim(1)
    return job


def done(job):
    return DoneReport(Finished(job.id, job.attempt, b"r"), 0.1)


def test_what_the_plane_refuses_is_delivered_later_in_order_and_once(plane, leases, counters):
    jobs = [claim(plane, leases, f"i{n}") for n in range(3)]
    backlog = Backlog(leases)
    plane.full = True
    backlog.add([done(jobs[0])])
    assert backlog.deliver() == set()
    assert backlog
    assert backlog.next_in(0.0) > 0
    plane.full = False
    backlog.add([done(jobs[1]), done(jobs[2])])
    assert backlog.deliver() == set(), "a second has not passed"
    assert plane.get("i0")["state"] == "running"
    assert backlog.deliver(at_once=True) == set()
    assert not backlog
    assert {plane.get(job.id)["state"] for job in jobs} == {"succeeded"}
    assert (counters.succeeded, counters.fenced) == (3, 0)


def test_running_invocations_that_are_lost_are_told_and_ended_ones_are_not(plane, leases):
    running, ended = claim(plane, leases, "running"), claim(plane, leases, "ended")
    plane.cancel("running")
    plane.cancel("ended")
    backlog = Backlog(leases)
    backlog.add([FrameReport(running.id, Frame(0, b"f")), done(ended)])
    assert backlog.deliver() == {"running"}


def test_it_is_full_by_number_or_by_bytes(plane, leases):
    backlog = Backlog(leases)
    backlog.add([LogReport("i", 1, n, "x") for n in range(19_999)])
    assert not backlog.full
    backlog.add([LogReport("i", 1, 0, "x")])
    assert backlog.full
    backlog = Backlog(leases)
    backlog.add([FrameReport("i", Frame(0, b"x" * (32 << 20)))])
    assert backlog.full


def test_an_empty_one_is_never_due(leases):
    backlog = Backlog(leases)
    assert backlog.next_in(0.0) == float("inf")
    assert not backlog.full
    assert backlog.deliver() == set()
