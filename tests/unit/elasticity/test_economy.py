"""Economy on the way down: an idle worker is not kept for longer than a new start is worth."""

from __future__ import annotations

import pytest

from lakeshore_elasticity import Common, FullyElastic, MaxCount, ScaleUp, Signals, Worker, decide

NOW = 10_000.0
ECONOMY = Common(scale_up=ScaleUp(economy=0.25))


def idle(count, since):
    return tuple(Worker(f"idle{index}-{since}", "ready_idle", NOW - since, 0.0) for index in range(count))


def snap(workers, queued=0, leased=0, **more):
    return Signals(queued, leased, NOW, tuple(workers), start_delay_s=5.0, **more)


@pytest.mark.parametrize("policy", [FullyElastic(common=ECONOMY), MaxCount(50, common=ECONOMY)])
def test_a_worker_that_starts_in_five_seconds_is_kept_idle_for_twenty(policy):
    decision = decide(policy, snap([*idle(2, since=21), *idle(3, since=12)]), None, NOW)
    assert set(decision.victims) == {"idle0-21", "idle1-21"}
    assert decision.next_check_s == pytest.approx(8.0)


def test_without_economy_the_timeout_alone_counts():
    decision = decide(FullyElastic(), snap(idle(2, since=21)), None, NOW)
    assert decision.victims == ()
    assert decision.next_check_s <= 30


def test_slow_starts_never_stretch_the_timeout():
    slow = Signals(0, 0, NOW, idle(2, since=121), start_delay_s=90.0)
    assert len(decide(FullyElastic(common=ECONOMY), slow, None, NOW).victims) == 2


def test_while_no_start_was_measured_the_timeout_alone_counts():
    unknown = Signals(0, 0, NOW, idle(2, since=60))
    assert decide(FullyElastic(common=ECONOMY), unknown, None, NOW).victims == ()


def test_what_a_steady_load_needs_is_kept_for_the_whole_timeout():
    # 1 job a second of 10 s keeps 10 slots busy, and now and then 10 + sqrt(10).
    busy = tuple(Worker(f"busy{index}", "ready_busy", NOW, 0.0) for index in range(10))
    steady = {"mean_duration_s": 10.0, "arrivals_per_s": 1.0, "leased": 10}
    decision = decide(FullyElastic(common=ECONOMY), snap([*busy, *idle(4, since=30)], **steady), None, NOW)
    assert decision.victims == ()
    decision = decide(FullyElastic(common=ECONOMY), snap([*busy, *idle(6, since=30)], **steady), None, NOW)
    assert len(decision.victims) == 2


def test_the_floor_is_reached_once_no_work_is_left():
    quiet = {"mean_duration_s": 10.0, "arrivals_per_s": 1.0}
    decision = decide(FullyElastic(common=ECONOMY), snap(idle(4, since=30), **quiet), None, NOW)
    assert len(decision.victims) == 4
