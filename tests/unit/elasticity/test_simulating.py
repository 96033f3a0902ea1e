"""What the simulator says of traces whose outcome can be worked out by hand, and what holds for every trace."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeshore_elasticity import Fixed, FullyElastic, MaxCount, PoolWithThreshold, parse_policy
from lakeshore_elasticity.simulator import KedaHpa, LognormalDelay, Trace, baselines, shape, simulate
from lakeshore_elasticity.simulator.results import Sample, Sampler, percentile

POLICIES = [
    Fixed(3),
    FullyElastic(idle_timeout_s=10.0),
    MaxCount(max=2, idle_timeout_s=10.0),
    PoolWithThreshold(max=6, warm=1, threshold=2, idle_timeout_s=10.0),
    PoolWithThreshold(max=4, warm=0, threshold=3, idle_timeout_s=10.0),
    KedaHpa(),
]


def one_run(policy, jobs, **more):
    return simulate(policy, jobs, **more).runs[0]


def test_one_job_waits_for_its_worker_and_the_worker_for_its_timeout():
    run = one_run(FullyElastic(idle_timeout_s=30.0), [(100.0, 7.0)], start_delay=5.0)
    assert (run.wait_p50_s, run.wait_p95_s, run.wait_max_s) == (5.0, 5.0, 5.0)
    spent = run.spent
    assert (spent.starting_s, spent.busy_s, spent.idle_s, spent.wasted_s) == (5.0, 7.0, 30.0, 0.0)
    assert run.end_s == 100 + 5 + 7 + 30
    assert (run.orders, run.most_workers, run.scale_actions, run.unfinished) == (1, 1, 2, 0)


def test_a_worker_is_idle_between_its_jobs_too():
    run = one_run(FullyElastic(idle_timeout_s=30.0), [(0.0, 2.0), (17.0, 2.0)], start_delay=5.0)
    assert (run.orders, run.spent.busy_s, run.spent.idle_s) == (1, 4.0, 10.0 + 30.0)


def test_jobs_that_are_more_than_the_workers_wait_in_the_order_of_arrival():
    run = one_run(MaxCount(max=2), [(0.0, 10.0)] * 6, start_delay=0.0)
    assert (run.wait_p50_s, run.wait_max_s, run.most_workers) == (10.0, 20.0, 2)


def test_slots_let_a_worker_run_several_jobs_at_once():
    run = one_run(FullyElastic(idle_timeout_s=30.0), [(0.0, 10.0)] * 6, slots=3, start_delay=5.0)
    assert (run.orders, run.wait_max_s) == (2, 5.0)
    assert run.spent.busy_s == 2 * 10.0


def test_a_worker_that_comes_too_late_is_cancelled_and_counts_as_wasted():
    policy = parse_policy({"kind": "fully_elastic", "scaleDown": {"cancelPendingAfterSeconds": 2}})
    trace = Trace.of([(0.0, 1.0), (20.0, 1.0), (20.0, 1.0)])
    run = one_run(policy, trace, start_delay=60.0)
    assert run.unfinished == 0
    late = one_run(policy, [(0.0, 0.1)] * 8, start_delay=LognormalDelay(60.0, 1.0))
    assert late.orders == 8
    assert late.spent.wasted_s > 0
    assert late.end_s < 60 * 20, "the last starts are not waited for"


def test_a_fixed_pool_of_none_leaves_all_jobs_and_says_so():
    run = one_run(Fixed(0), [(0.0, 1.0)] * 4)
    assert (run.unfinished, run.orders, run.jobs) == (4, 0, 4)


def test_a_pool_without_warm_workers_runs_the_first_job_too():
    run = one_run(PoolWithThreshold(max=4, warm=0, threshold=8), [(0.0, 1.0)], start_delay=5.0)
    assert (run.unfinished, run.orders, run.wait_max_s) == (0, 1, 5.0)


def test_no_jobs_are_no_trouble():
    assert one_run(FullyElastic(), []).to_dict()["worker_s"]["total"] == 0
    assert one_run(Fixed(2), []).wait_p99_s == 0.0


def test_a_long_silence_is_not_the_end():
    run = one_run(FullyElastic(), [(0.0, 1.0), (500_000.0, 1.0)])
    assert (run.unfinished, run.orders) == (0, 2)


def test_a_job_longer_than_the_longest_wait_is_seen_to_its_end():
    run = one_run(FullyElastic(), [(0.0, 100_000.0)])
    assert run.spent.busy_s == 100_000.0


def test_several_policies_are_named_by_what_sets_them_apart():
    economy = parse_policy({"kind": "fully_elastic", "scaleUp": {"economy": 0.25}})
    results = simulate([*POLICIES, economy], [(0.0, 1.0)])
    assert [run.name for run in results.runs] == [
        "fixed 3",
        "fully_elastic",
        "max_count 2",
        "pool_with_threshold 1-6",
        "pool_with_threshold 0-4",
        "KEDA+HPA",
        "fully_elastic, economy 0.25",
    ]
    assert results["fixed 3"] is results.runs[0]
    with pytest.raises(KeyError):
        results["none"]
    named = simulate({"mine": Fixed(1), "theirs": KedaHpa()}, [(0.0, 1.0)])
    assert [run.name for run in named.runs] == ["mine", "theirs"]


def test_the_same_arguments_give_the_same_results_and_json_holds_them():
    def go(seed):
        return simulate(
            [*POLICIES[1:], *baselines()], shape("burst"), start_delay=LognormalDelay(20), seed=seed
        )

    assert go(5) == go(5)
    assert go(5) != go(6)
    told = json.loads(json.dumps(go(5).to_dict()))
    assert told["jobs"] == 1000
    for run in told["runs"]:
        spent = run["worker_s"]
        parts = spent["busy"] + spent["idle"] + spent["starting"] + spent["wasted"]
        assert parts == pytest.approx(spent["total"], abs=0.01)


def test_measured_means_are_known_from_the_start():
    economy = parse_policy({"kind": "fully_elastic", "scaleUp": {"economy": 0.25}})
    jobs = [(0.0, 1.0)] * 1000
    new = one_run(economy, jobs, start_delay=90.0)
    known = one_run(economy, jobs, start_delay=90.0, measured=True)
    assert (new.most_workers, known.most_workers) == (1000, 45)


@pytest.mark.parametrize(("name", "value"), [("slots", 0), ("tick_s", 0.0), ("start_delay", -1.0)])
def test_what_cannot_be_simulated_is_refused(name, value):
    with pytest.raises(ValueError, match=r"slots|tick_s|start delay"):
        simulate(Fixed(1), [(0.0, 1.0)], **{name: value})


jobs = st.lists(st.tuples(st.floats(0, 300), st.sampled_from([0.0, 0.3, 4.0, 70.0])), min_size=1, max_size=40)


@settings(max_examples=150, deadline=None)
@given(
    jobs, st.sampled_from(POLICIES), st.integers(1, 3), st.sampled_from([0.0, 4.0, 45.0]), st.integers(0, 9)
)
def test_every_job_runs_once_and_every_second_is_accounted_for(jobs, policy, slots, mean_s, seed):
    run = one_run(policy, jobs, slots=slots, start_delay=LognormalDelay(mean_s), seed=seed)
    work_s = sum(takes for _, takes in jobs)
    assert run.unfinished == 0
    assert work_s / slots - 1e-6 <= run.spent.busy_s <= work_s + 1e-6
    assert min(run.spent.idle_s, run.spent.starting_s, run.spent.wasted_s) >= -1e-6
    assert 0 <= run.wait_p50_s <= run.wait_p95_s <= run.wait_p99_s <= run.wait_max_s
    assert run.spent.total_s <= run.most_workers * run.end_s + 1e-6
    assert all(sample.alive <= run.most_workers for sample in run.samples)
    assert [sample.t_s for sample in run.samples] == sorted(sample.t_s for sample in run.samples)


def test_percentiles_are_of_the_nearest_rank():
    values = [float(value) for value in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile(values, 0.99)) == (50, 95, 99)
    assert (percentile([7.0], 0.99), percentile([], 0.5)) == (7.0, 0.0)


@given(st.lists(st.integers(0, 1000), min_size=60, max_size=300))
def test_a_long_run_keeps_few_samples_and_every_peak(depths):
    sampler = Sampler(most=20)
    for index, depth in enumerate(depths):
        sampler.add(Sample(float(index), depth, 0, 0, depth % 7))
    kept = sampler.samples()
    assert len(kept) <= 40
    assert kept[0].t_s == 0.0
    assert max(sample.queued for sample in kept) == max(depths)
    assert max(sample.alive for sample in kept) == max(depth % 7 for depth in depths)
