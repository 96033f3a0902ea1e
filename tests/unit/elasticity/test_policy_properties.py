"""What holds for every policy on every trace and snapshot."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

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

NOW = 5000.0
commons = st.builds(
    Common,
    st.builds(ScaleUp, st.none() | st.integers(1, 5), st.sampled_from([0.0, 0.0, 0.25, 1.0])),
    st.builds(
        ScaleDown, st.sampled_from([0.0, 10.0]), st.sampled_from([0.0, 0.0, 20.0]), st.floats(0.05, 1.0)
    ),
)
idle_timeouts = st.sampled_from([5.0, 20.0, 60.0])


@st.composite
def pools(draw):
    warm = draw(st.integers(0, 4))
    return PoolWithThreshold(
        draw(st.integers(max(1, warm), 20)),
        warm,
        draw(st.integers(0, 5)),
        draw(st.none() | st.floats(0, 100)),
        draw(idle_timeouts),
        draw(commons),
    )


fixeds = st.builds(Fixed, st.integers(0, 12), commons)
elastics = st.builds(FullyElastic, idle_timeouts, st.integers(1, 30), commons)
counts = st.builds(MaxCount, st.integers(1, 20), idle_timeouts, commons)
policies = fixeds | elastics | pools() | counts


def snapshot_of(seed):
    """Make a snapshot like those of a living pool: phases that began in the past, workers in disorder.

    Drawn by ``random`` from one integer: a snapshot has a hundred fields, and thousands are to be tried.
    """
    rng = random.Random(seed)
    phases = ["pending", "starting", "ready_idle", "ready_idle", "ready_busy", "draining"]
    workers = []
    for index in range(rng.choice([0, 1, 2, 5, 14])):
        since = NOW - rng.choice([0, 1, 4, 5, 20, 59, 61, 200])
        workers.append(
            Worker(
                f"w{index}",
                rng.choice(phases),
                since,
                since - rng.randrange(3),
                healthy=rng.random() < 0.8,
                cordoned=rng.random() < 0.2,
                leased=rng.randrange(3),
            )
        )
    return Signals(
        queued=rng.choice([0, 0, 1, 3, rng.randrange(40)]),
        leased=rng.choice([0, 0, 1, 3, rng.randrange(40)]),
        as_of=NOW - rng.choice([0.0, 0.0, 1.0, 15.5]),
        workers=tuple(workers),
        oldest_age_s=rng.uniform(0, 150),
        slots=rng.choice([1, 1, 2, 4]),
        lifecycle=rng.choice(["active", "active", "active", "paused", "draining", "archived"]),
        mean_duration_s=rng.choice([None, 0.01, 1.0, 20.0, 600.0]),
        start_delay_s=rng.choice([None, 0.1, 5.0, 90.0]),
        arrivals_per_s=rng.choice([0.0, 0.1, 3.0]),
        start_failures=rng.choice([0, 0, 0, 1, 5]),
        last_failure_at=NOW - rng.randrange(400),
    )


snapshots = st.integers(0, 2**40).map(snapshot_of)
memories = st.lists(st.tuples(snapshots, st.integers(1, 30)), max_size=2)


def state_after(policy, memory):
    """Give the state that a policy has after some earlier snapshots, each some seconds before now."""
    state = None
    for signals, ago in sorted(memory, key=lambda pair: -pair[1]):
        state = decide(policy, signals, state, NOW - ago).state
    return state


def floor_of(policy):
    if isinstance(policy, Fixed):
        return policy.replicas
    return policy.warm if isinstance(policy, PoolWithThreshold) else 0


def ceiling_of(policy):
    if isinstance(policy, Fixed):
        return policy.replicas
    return policy.cap if isinstance(policy, FullyElastic) else policy.max


def there(signals):
    return sum(worker.phase != "draining" for worker in signals.workers)


# One snapshot


@settings(max_examples=500)
@given(policies, snapshots, memories)
def test_what_is_wanted_stays_within_the_bounds(policy, signals, memory):
    decision = decide(policy, signals, state_after(policy, memory), NOW)
    low = floor_of(policy) if signals.lifecycle == "active" else 0
    high = max(ceiling_of(policy), there(signals) if signals.lifecycle == "draining" else 0)
    assert low <= decision.wanted <= high
    assert decision.start >= 0
    assert decision.unmet >= 0
    assert 0 < decision.next_check_s <= 300
    if decision.start:
        assert there(signals) + decision.start <= ceiling_of(policy)
        if isinstance(policy, MaxCount | PoolWithThreshold):
            assert len(signals.workers) + decision.start <= ceiling_of(policy)
    gone = len(decision.cancel) + len(decision.victims)
    assert decision.desired == there(signals) + decision.start - gone
    assert decision.desired >= min(decision.wanted, there(signals))


@settings(max_examples=500)
@given(policies, snapshots, memories)
def test_only_idle_workers_are_drained_and_only_unstarted_ones_cancelled(policy, signals, memory):
    decision = decide(policy, signals, state_after(policy, memory), NOW)
    phase = {worker.id: worker.phase for worker in signals.workers}
    assert {phase[name] for name in decision.victims} <= {"ready_idle"}
    assert {phase[name] for name in decision.cancel} <= {"pending", "starting"}
    assert len({*decision.victims, *decision.cancel}) == len(decision.victims) + len(decision.cancel)
    assert not (decision.start and (decision.victims or decision.cancel))
    kind = (
        "scale_up" if decision.start else "scale_down" if decision.victims or decision.cancel else "tick_noop"
    )
    assert decision.kind == kind


@settings(max_examples=500)
@given(policies, snapshots, memories)
def test_nothing_is_ordered_without_demand(policy, signals, memory):
    decision = decide(policy, signals, state_after(policy, memory), NOW)
    if decision.start and not signals.demand:
        assert there(signals) + decision.start <= floor_of(policy)
    if signals.lifecycle != "active":
        assert decision.start == 0


@settings(max_examples=500)
@given(policies, snapshots, memories)
def test_a_stale_snapshot_takes_nobody_away(policy, signals, memory):
    if NOW - signals.as_of > policy.common.stale_after_s:
        decision = decide(policy, signals, state_after(policy, memory), NOW)
        assert decision.victims == decision.cancel == ()


@settings(max_examples=500)
@given(policies, snapshots, memories, st.integers(0, 20), st.integers(0, 20))
def test_more_demand_in_the_same_snapshot_never_lowers_what_is_desired(
    policy, signals, memory, more, running
):
    raised = replace(signals, queued=signals.queued + more, leased=signals.leased + running)
    low, high = (
        decide(policy, signals, state_after(policy, memory), NOW),
        decide(policy, raised, state_after(policy, memory), NOW),
    )
    assert high.wanted >= low.wanted
    assert high.desired >= low.desired


@settings(max_examples=500)
@given(policies, snapshots, memories, st.randoms(use_true_random=False))
def test_the_order_in_which_workers_are_listed_decides_nothing(policy, signals, memory, shuffler):
    workers = list(signals.workers)
    shuffler.shuffle(workers)
    state = state_after(policy, memory)
    shuffled = replace(signals, workers=tuple(workers))
    assert decide(policy, shuffled, state, NOW) == decide(policy, signals, state, NOW)


@settings(max_examples=500)
@given(policies, snapshots, memories)
def test_a_restart_changes_nothing_but_how_long_a_surplus_is_watched(policy, signals, memory):
    before, fresh = (
        decide(policy, signals, state_after(policy, memory), NOW),
        decide(policy, signals, None, NOW),
    )
    assert (fresh.wanted, fresh.start, fresh.state.bursting) == (
        before.wanted,
        before.start,
        before.state.bursting,
    )
    assert set(fresh.cancel) <= set(before.cancel)
    instant = ScaleDown(0.0, 0.0, policy.common.scale_down.max_fraction_per_step)
    undamped = replace(policy, common=replace(policy.common, scale_down=instant))
    assert replace(decide(undamped, signals, state_after(undamped, memory), NOW), state=State()) == replace(
        decide(undamped, signals, None, NOW), state=State()
    )


# Whole traces

traces = st.lists(
    st.tuples(st.integers(0, 25), st.lists(st.sampled_from([0.5, 3.0, 17.0, 60.0]), max_size=12)), max_size=8
)


def play(world, policy, trace, start_s, slots, forget=None):
    w = world(policy, start_s=start_s, slots=slots, uneven=True)
    for pause, jobs in trace:
        for _ in range(pause):
            if forget is not None and forget.random() < 0.2:
                w.state = None
            w.step()
        w.submit(jobs)
    return w


def patience(policy):
    """Seconds from the last job's end to the floor: the idle timeout, the damping, one step."""
    down = policy.common.scale_down
    idle = 0.0 if isinstance(policy, Fixed) else policy.idle_timeout_s
    return max(idle, down.cancel_pending_after_s, down.stabilization_s) + 2.0


def can_work(policy):
    """A pool without warm workers leaves a backlog below its threshold waiting, and fixed 0 everything."""
    return floor_of(policy) > 0 or isinstance(policy, FullyElastic | MaxCount)


@settings(max_examples=120, deadline=None)
@example(MaxCount(2, 5.0), [(0, [0.5, 0.5])], 40.0, 1)
@example(FullyElastic(60.0, 4), [(0, [0.5]), (1, [3.0, 60.0, 17.0])], 200.0, 1)
@given(policies.filter(can_work), traces, st.sampled_from([0.0, 5.0, 40.0, 200.0]), st.integers(1, 3))
def test_a_trace_that_stops_ends_at_the_floor(world, policy, trace, start_s, slots):
    w = play(world, policy, trace, start_s, slots)
    w.run_until_done()
    assert w.finished == sum(len(jobs) for _, jobs in trace)
    w.run(patience(policy))
    assert w.there <= max(floor_of(policy), 0)
    w.run(2 * start_s + 15.0)  # warm workers that a start of one at a time still owes
    assert w.there == floor_of(policy)


@settings(max_examples=100, deadline=None)
@given(policies, traces, st.sampled_from([0.0, 5.0, 40.0]), st.integers(1, 3))
def test_no_trace_takes_a_policy_over_its_ceiling(world, policy, trace, start_s, slots):
    w = play(world, policy, trace, start_s, slots)
    w.run(30.0)
    for _, decision in w.decisions:
        assert decision.desired <= ceiling_of(policy)


@settings(max_examples=60, deadline=None)
@given(
    (elastics | pools() | counts).filter(can_work),
    st.integers(1, 4),
    st.floats(1.0, 12.0),
    st.sampled_from([0.0, 5.0, 40.0]),
)
def test_a_constant_load_settles(world, policy, period, duration, start_s):
    """Jobs of one length at one pace: at most one change per idle timeout once the pool has filled."""
    down = replace(policy.common.scale_down, cancel_pending_after_s=10.0)
    w = world(replace(policy, common=replace(policy.common, scale_down=down)), start_s=start_s)

    def load(seconds):
        for tick in range(int(seconds)):
            if tick % period == 0:
                w.submit([duration])
            w.step()

    idle = policy.idle_timeout_s
    load(600 + 3 * idle)
    settled_at = w.now
    load(4 * idle)
    assert len(w.changes(settled_at)) <= 4


@settings(max_examples=80, deadline=None)
@given(policies, traces, st.sampled_from([0.0, 5.0, 40.0]), st.integers(0, 2**32))
def test_restarts_in_the_middle_give_the_same_run(world, policy, trace, start_s, seed):
    """Without damping there is nothing to lose; with it, a surplus is only watched for longer."""
    down = ScaleDown(0.0, 0.0, policy.common.scale_down.max_fraction_per_step)
    undamped = replace(policy, common=replace(policy.common, scale_down=down))
    kept = play(world, undamped, trace, start_s, 1)
    lost = play(world, undamped, trace, start_s, 1, forget=random.Random(seed))
    assert [(at, replace(one, state=State())) for at, one in kept.decisions] == [
        (at, replace(one, state=State())) for at, one in lost.decisions
    ]
    damped = play(world, policy, trace, start_s, 1, forget=random.Random(seed))
    damped.run(max(60.0, patience(policy)) + 700.0)
    straight = play(world, policy, trace, start_s, 1)
    straight.run(max(60.0, patience(policy)) + 700.0)
    assert (damped.finished, damped.there) == (straight.finished, straight.there)
