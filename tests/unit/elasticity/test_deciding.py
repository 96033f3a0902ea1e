"""Each rule of a decision, from one snapshot."""

from __future__ import annotations

import pytest

from lakeshore_elasticity import (
    Common,
    Fixed,
    FullyElastic,
    MaxCount,
    PoolWithThreshold,
    ScaleDown,
    ScaleUp,
    Signals,
    State,
    Worker,
    decide,
)

NOW = 10_000.0


def some(count, phase="ready_idle", since=0.0, name="", created=None, **more):
    name = name or phase
    return tuple(
        Worker(f"{name}{index}", phase, NOW - since, (NOW - since) if created is None else created, **more)
        for index in range(count)
    )


def snap(queued=0, leased=0, workers=(), age=0.0, **more):
    return Signals(queued, leased, NOW - age, tuple(workers), **more)


def damped(**scale_down):
    return Common(scale_down=ScaleDown(**scale_down))


# fully_elastic and max_count


@pytest.mark.parametrize(
    ("queued", "leased", "slots", "wanted"), [(12, 1, 1, 13), (13, 0, 4, 4), (0, 0, 4, 0)]
)
def test_fully_elastic_wants_a_slot_for_each_job(queued, leased, slots, wanted):
    decision = decide(FullyElastic(), snap(queued, leased, slots=slots), None, NOW)
    assert (decision.wanted, decision.start) == (wanted, wanted)


def test_the_reason_says_what_was_seen_and_what_follows():
    decision = decide(FullyElastic(cap=8), snap(12, 1), None, NOW)
    assert decision.reason == "12 queued, 1 leased; 13 workers wanted at 1 slot each; cap 8"
    assert (decision.kind, decision.desired, decision.start, decision.unmet) == ("scale_up", 8, 8, 5)


def test_max_count_counts_workers_that_are_going_and_says_so():
    workers = (*some(3, "draining"), *some(2, "ready_busy"), *some(1, "pending"))
    decision = decide(MaxCount(max=8), snap(20, 2, workers), None, NOW)
    assert (decision.start, decision.desired, decision.unmet) == (2, 5, 17)
    assert "3 are still going" in decision.reason


@pytest.mark.parametrize("policy", [Fixed(replicas=1), FullyElastic(cap=1)])
def test_a_worker_that_ends_its_last_job_does_not_hold_up_its_successor(policy):
    decision = decide(policy, snap(1, 1, some(1, "draining", leased=1)), None, NOW)
    assert decision.start == 1


def test_jobs_of_draining_workers_need_no_further_worker():
    decision = decide(FullyElastic(), snap(0, 2, some(1, "draining", leased=2)), None, NOW)
    assert (decision.start, decision.wanted) == (0, 0)


def test_busy_workers_may_be_counted_instead_of_listed():
    listed = decide(FullyElastic(), snap(5, 50, some(50, "ready_busy")), None, NOW)
    counted = decide(FullyElastic(), snap(5, 50, more_busy=50), None, NOW)
    assert listed == counted


# fixed


def test_fixed_ignores_the_depth_and_replaces_the_dead():
    assert decide(Fixed(3), snap(500), None, NOW).start == 3
    assert decide(Fixed(3), snap(500, 0, some(2)), None, NOW).start == 1
    assert decide(Fixed(3), snap(0, 0, some(3, since=9e9)), None, NOW).kind == "tick_noop"


def test_lowering_fixed_drains_idle_workers_and_waits_for_busy_ones():
    policy = Fixed(1, damped(max_fraction_per_step=1.0))
    decision = decide(policy, snap(9, 2, (*some(2, "ready_busy"), *some(2))), None, NOW)
    assert set(decision.victims) == {"ready_idle0", "ready_idle1"}
    assert decision.desired == 2
    assert decide(policy, snap(9, 2, some(2, "ready_busy")), None, NOW).victims == ()


# pool_with_threshold

POOL = PoolWithThreshold(max=10, warm=2, threshold=4, age_limit_s=60.0)


def test_a_pool_keeps_its_warm_workers_and_bursts_above_the_backlog_of_each():
    assert decide(POOL, snap(), None, NOW).wanted == 2
    assert decide(POOL, snap(8), None, NOW).wanted == 2
    decision = decide(POOL, snap(9), None, NOW)
    assert (decision.wanted, decision.state.bursting) == (9, True)
    assert decide(POOL, snap(99), None, NOW).wanted == 10
    assert decide(POOL, snap(99), None, NOW).unmet == 89


def test_a_burst_ends_at_half_of_what_begins_it():
    burst = some(6, "ready_busy")
    assert decide(POOL, snap(5, 6, burst), None, NOW).wanted == 10
    over = decide(POOL, snap(4, 6, burst), None, NOW)
    assert (over.wanted, over.state.bursting, over.victims) == (2, False, ())
    assert decide(POOL, snap(5, 2, some(2, "ready_busy")), None, NOW).wanted == 2


def test_a_pool_bursts_when_a_job_has_waited_too_long_and_looks_again_just_then():
    waiting = decide(POOL, snap(3, 2, some(2, "ready_busy"), oldest_age_s=55.0), None, NOW)
    assert (waiting.start, waiting.next_check_s) == (0, 5.0)
    assert decide(POOL, snap(3, 2, some(2, "ready_busy"), oldest_age_s=61.0), None, NOW).start == 3


def test_a_pool_never_goes_below_warm():
    assert decide(POOL, snap(0, 0, some(2, since=9e9)), None, NOW).victims == ()


# going down


def test_idle_workers_go_after_their_timeout_and_not_before():
    policy = FullyElastic(idle_timeout_s=120.0)
    before = decide(policy, snap(0, 0, some(3, since=119.0)), None, NOW)
    assert (before.kind, before.victims, before.desired, before.next_check_s) == ("tick_noop", (), 3, 1.0)
    after = decide(policy, snap(0, 0, some(3, since=120.0)), None, NOW)
    assert (after.kind, len(after.victims), after.desired) == ("scale_down", 3, 0)


def test_a_busy_worker_is_never_a_victim_even_over_the_ceiling():
    decision = decide(MaxCount(max=1), snap(0, 5, some(5, "ready_busy", since=9e9)), None, NOW)
    assert (decision.victims, decision.cancel, decision.desired) == ((), (), 5)


def test_idle_workers_over_a_lowered_ceiling_go_at_once():
    policy = MaxCount(max=2, common=damped(max_fraction_per_step=1.0))
    decision = decide(policy, snap(7, 1, (*some(1, "ready_busy"), *some(3, since=1.0))), None, NOW)
    assert len(decision.victims) == 2


def test_those_that_have_not_started_go_first_then_unhealthy_then_cordoned_then_newest():
    workers = (
        *some(1, "ready_idle", name="old", created=1.0),
        *some(1, "ready_idle", name="new", created=3.0),
        *some(1, "ready_idle", name="cordoned", created=0.5, cordoned=True),
        *some(1, "ready_idle", name="sick", created=0.1, healthy=False),
        *some(1, "starting"),
    )
    policy = FullyElastic(0.0, common=damped(cancel_pending_after_s=0.0, max_fraction_per_step=1.0))
    order: list[str] = []
    for leaving in range(1, 6):
        decision = decide(policy, snap(5 - leaving, 0, workers), None, NOW)
        going = {*decision.cancel, *decision.victims}
        assert len(going) == leaving
        assert going > set(order), "who goes first goes also when more go"
        order += going - set(order)
    assert order == ["starting0", "sick0", "cordoned0", "new0", "old0"]


def test_starts_are_cancelled_only_after_being_surplus_for_some_seconds():
    workers = some(4, "starting", since=50.0)
    first = decide(FullyElastic(), snap(1, 0, workers), None, NOW)
    assert (first.cancel, first.next_check_s) == ((), 10.0)
    kept = decide(FullyElastic(), snap(1, 0, workers, age=-9.0), first.state, NOW + 9.0)
    assert (kept.cancel, kept.next_check_s) == ((), 1.0)
    gone = decide(FullyElastic(), snap(1, 0, workers, age=-10.0), kept.state, NOW + 10.0)
    assert len(gone.cancel) == 3


def test_a_start_that_a_steady_load_needs_is_spared_only_while_there_is_work():
    steady = {"workers": some(4, "starting"), "arrivals_per_s": 0.5, "mean_duration_s": 20.0, "age": -10.0}
    state = decide(FullyElastic(), snap(1, 0, some(4, "starting")), None, NOW).state
    assert decide(FullyElastic(), snap(1, 0, **steady), state, NOW + 10.0).cancel == ()
    assert len(decide(FullyElastic(), snap(0, 0, **steady), state, NOW + 10.0).cancel) == 4


def test_a_surplus_that_passes_starts_its_seconds_anew():
    workers = some(4, "starting")
    state = decide(FullyElastic(), snap(1, 0, workers), None, NOW).state
    assert state.surplus_since == NOW
    assert decide(FullyElastic(), snap(4, 0, workers), state, NOW + 5).state == State()


def test_stabilization_holds_idle_workers_back():
    policy = FullyElastic(common=damped(stabilization_s=30.0))
    first = decide(policy, snap(0, 0, some(2, since=500.0)), None, NOW)
    assert (first.victims, first.next_check_s) == ((), 30.0)
    later = snap(0, 0, some(2, since=500.0), age=-30.0)
    assert len(decide(policy, later, first.state, NOW + 30.0).victims) == 2


def test_a_quarter_of_the_ready_ones_goes_per_step_while_there_is_work():
    workers = (*some(10, "ready_busy"), *some(10, since=500.0))
    decision = decide(FullyElastic(), snap(0, 10, workers), None, NOW)
    assert (len(decision.victims), decision.next_check_s) == (5, 1.0)
    left = [worker for worker in workers if worker.id not in decision.victims]
    going = some(5, "draining", since=0.5)
    assert decide(FullyElastic(), snap(0, 10, (*left, *going)), decision.state, NOW).victims == ()


def test_one_goes_at_least_however_small_the_fraction():
    policy = FullyElastic(common=damped(max_fraction_per_step=0.01))
    decision = decide(policy, snap(0, 1, (*some(1, "ready_busy"), *some(2, since=500.0))), None, NOW)
    assert len(decision.victims) == 1


def test_a_stale_snapshot_scales_up_and_never_down():
    old = {"age": 15.1}
    assert decide(FullyElastic(), snap(3, **old), None, NOW).start == 3
    held = decide(FullyElastic(), snap(0, 0, some(3, since=900.0), **old), None, NOW)
    assert (held.victims, held.kind) == ((), "tick_noop")
    assert "15 s old" in held.reason
    assert decide(FullyElastic(), snap(0, 0, some(3, since=900.0), age=14.9), None, NOW).victims
    patient = FullyElastic(common=Common(stale_after_s=60.0))
    assert decide(patient, snap(0, 0, some(3, since=900.0), **old), None, NOW).victims


# lifecycle


@pytest.mark.parametrize("lifecycle", ["paused", "archived"])
@pytest.mark.parametrize("policy", [Fixed(3), FullyElastic(), POOL, MaxCount(max=3)])
def test_a_paused_or_archived_queue_wants_no_worker_at_once(policy, lifecycle):
    workers = (*some(2, since=1.0), *some(1, "ready_busy"), *some(2, "starting"))
    decision = decide(policy, snap(50, 1, workers, lifecycle=lifecycle), None, NOW)
    assert (decision.wanted, decision.desired) == (0, 1)
    assert set(decision.victims) == {"ready_idle0", "ready_idle1"}
    assert len(decision.cancel) == 2
    assert f"the queue is {lifecycle}" in decision.reason


@pytest.mark.parametrize("policy", [Fixed(3), FullyElastic(), POOL])
def test_a_draining_queue_keeps_what_running_work_needs_and_starts_none(policy):
    decision = decide(
        policy, snap(0, 2, (*some(2, "ready_busy"), *some(2, since=1.0)), lifecycle="draining"), None, NOW
    )
    assert (decision.wanted, decision.start, len(decision.victims)) == (2, 0, 2)
    assert decide(policy, snap(9, 4, lifecycle="draining"), None, NOW).start == 0


# going up


def test_max_step_bounds_one_order_and_looks_again_soon():
    policy = FullyElastic(common=Common(scale_up=ScaleUp(max_step=4)))
    decision = decide(policy, snap(10), None, NOW)
    assert (decision.start, decision.unmet, decision.next_check_s) == (4, 6, 1.0)
    assert "at most 4 at once" in decision.reason


def test_workers_on_their_way_are_not_ordered_twice():
    workers = (*some(3, "pending"), *some(4, "starting"))
    assert decide(FullyElastic(), snap(7, 0, workers), None, NOW).kind == "tick_noop"
    assert decide(FullyElastic(), snap(8, 0, workers), None, NOW).start == 1


def test_economy_orders_what_comes_in_time_to_help():
    policy = FullyElastic(common=Common(scale_up=ScaleUp(economy=0.25)))
    known = {"mean_duration_s": 1.0, "start_delay_s": 90.0}
    decision = decide(policy, snap(1000, **known), None, NOW)
    assert decision.wanted == 45  # 1000 * 1 s / (0.25 * 90 s), rounded up
    assert "economy" in decision.reason
    assert decide(policy, snap(1000), None, NOW).wanted == 1000, "nothing is known yet"
    assert decide(policy, snap(1000, mean_duration_s=600.0, start_delay_s=90.0), None, NOW).wanted == 1000
    assert decide(policy, snap(1, **known), None, NOW).wanted == 1


def test_economy_never_starves_a_steady_load():
    policy = FullyElastic(common=Common(scale_up=ScaleUp(economy=1.0)))
    load = snap(40, mean_duration_s=2.0, start_delay_s=90.0, arrivals_per_s=10.0)
    assert (
        decide(policy, load, None, NOW).wanted == 31
    )  # 10 per second for 2 s each, and the root of that 2.33 times


# starts that fail


def failing(count, ago, queued=50, workers=(), why="image pull"):
    return snap(queued, 0, workers, start_failures=count, last_failure_at=NOW - ago, failure=why)


@pytest.mark.parametrize(("count", "pause"), [(1, 10), (2, 20), (3, 40), (4, 80), (6, 300), (400, 300)])
def test_failed_starts_pause_orders_for_twice_as_long_each_time(count, pause):
    early = decide(FullyElastic(), failing(count, pause - 1.0), None, NOW)
    assert (early.start, early.kind, early.next_check_s) == (0, "tick_noop", 1.0)
    assert "image pull" in early.reason
    assert decide(FullyElastic(), failing(count, pause), None, NOW).start == 4


def test_while_starts_fail_four_are_on_their_way_at_most():
    assert decide(FullyElastic(), failing(1, 60.0, workers=some(3, "pending")), None, NOW).start == 1
    assert decide(FullyElastic(), failing(1, 60.0, workers=some(4, "starting")), None, NOW).start == 0


def test_one_start_that_works_lifts_the_limit():
    assert decide(FullyElastic(), snap(50, 1, some(1, "ready_busy")), None, NOW).start == 50
