"""The plane's clock: no step of the wall clock moves it, no reboot turns it back."""

import time

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.clock import SystemClock
from dreamlake.lakeshore.dispatch.plane import RunConfig, WorkerRecord

HOUR = 3600.0


@pytest.mark.parametrize("step", [HOUR, -HOUR, 24 * HOUR, -365 * 24 * HOUR])
def test_report_32_clock_steps_and_dst_change_no_delay_lease_or_deadline(plane, clock, step):
    plane.submit("q", b"e", id="leased")
    plane.submit("q", b"e", id="delayed", config=RunConfig(delay_s=100))
    deadline = clock.wall() + 200
    plane.submit("q", b"e", id="limited", config=RunConfig(delay_s=150, deadline=deadline))
    plane.claim("q", "w", lease_s=50)
    before = plane.now()
    clock.wall_time += step
    assert plane.now() == before
    assert plane.next_due("q") == pytest.approx(50)
    assert plane.claim("q", "thief") is None
    clock.advance(40)
    assert plane.renew(["leased"], "w", lease_s=500) == set()
    clock.advance(59)
    assert plane.claim("q", "w") is None
    clock.advance(2)
    assert plane.claim("q", "w", lease_s=500).id == "delayed"
    clock.advance(98)
    assert plane.claim("q", "w").id == "limited"


def test_report_32_processes_agree_though_one_was_opened_after_the_step(open_plane, clock):
    first = open_plane()
    clock.wall_time -= 5 * HOUR
    second = open_plane()
    assert second.now() == first.now()


def test_the_first_boot_reads_like_unix_time(plane, clock):
    assert plane.now() == clock.wall()


@pytest.mark.parametrize("wall_step", [0.0, 600.0, -24 * HOUR])
def test_a_reboot_never_turns_the_clock_back_and_ends_every_lease(open_plane, clock, wall_step):
    before = open_plane()
    before.submit("q", b"e", id="a")
    before.submit("q", b"e", id="b", config=RunConfig(delay_s=1000))
    before.claim("q", "w", lease_s=10 * HOUR)
    before.register_worker(WorkerRecord("w", "q", "host", 1, "active", 1, before.now(), before.now()))
    shown = before.now()
    clock.reboot()
    clock.wall_time += wall_step
    after = open_plane()
    assert after.now() >= shown
    assert after.next_due("q") == 0.0
    assert after.workers() == []
    claimed = after.claim("q", "w2")
    assert (claimed.id, claimed.attempt) == ("a", 2)
    if wall_step >= 0:
        assert after.next_due("q") == pytest.approx(30)
    assert after.claim("q", "w2") is None  # the delay goes on


def test_after_a_reboot_all_processes_agree_again(open_plane, clock):
    open_plane()
    clock.reboot()
    first = open_plane()
    clock.wall_time += HOUR
    assert open_plane().now() == first.now()


def test_a_deadline_is_taken_from_the_wall_clock_at_submit(plane, clock):
    clock.wall_time += HOUR  # the user has just put a slow clock right
    plane.submit("q", b"e", id="a", config=RunConfig(deadline=clock.wall() + 10))
    clock.advance(9)
    claimed = plane.claim("q", "w")
    plane.release([claimed.id], "w")
    clock.advance(2)
    assert plane.claim("q", "w") is None
    assert plane.get("a")["state"] == "failed"


def test_a_machine_that_slept_takes_no_lease_from_a_worker_and_keeps_wall_clock_deadlines(plane, clock):
    plane.submit("q", b"e", id="leased")
    plane.submit("q", b"e", id="delayed", config=RunConfig(delay_s=100))
    plane.submit("q", b"e", id="limited", config=RunConfig(delay_s=1, deadline=clock.wall() + 200))
    plane.claim("q", "w", lease_s=30)
    clock.sleep(8 * HOUR)
    assert plane.signals("q").leased == 1
    assert plane.claim("q", "thief").id == "delayed"
    assert plane.get("limited")["error"]["type"] == "DeadlineExceeded"
    assert plane.next_due("q") == pytest.approx(30)
    plane.ack("leased", "w")
    clock.advance(31)
    assert plane.claim("q", "other").id == "delayed"


def test_the_real_clock_is_steady_and_names_its_boot(path):
    clock = SystemClock()
    assert clock.boot() == clock.boot() != ""
    assert clock.steady() <= clock.steady()
    assert clock.wall() == pytest.approx(time.time(), abs=5)
    first, second = Dispatch(path), Dispatch(path)
    one, two, three = first.now(), second.now(), first.now()
    assert one <= two <= three < one + 60
    assert one == pytest.approx(time.time(), abs=60)
    first.close()
    second.close()
