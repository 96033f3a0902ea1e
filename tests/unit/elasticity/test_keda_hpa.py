"""The baseline does what KEDA and the HPA document, watched on traces whose outcome can be worked out by hand."""

from __future__ import annotations

import math

import pytest

from lakeshore_elasticity import Fixed, FullyElastic, MaxCount, PoolWithThreshold
from lakeshore_elasticity.simulator import KedaHpa, baselines, keda_hpa_baseline


def first_seen(run, alive):
    """Give the time of the first sample with at least so many workers."""
    return next(sample.t_s for sample in run.samples if sample.alive >= alive)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_worker_is_started_within_one_poll(seed):
    run = keda_hpa_baseline([(100.0, 1.0)], start_delay=0.0, seed=seed)
    assert 0 < run.wait_max_s <= 30.0
    assert run.orders == 1


def test_polls_fall_at_another_moment_with_another_seed():
    waits = {keda_hpa_baseline([(100.0, 1.0)], start_delay=0.0, seed=seed).wait_max_s for seed in range(5)}
    assert len(waits) == 5


def test_steps_upwards_are_four_or_a_doubling_at_each_sync():
    run = keda_hpa_baseline([(0.0, 5000.0)] * 100, start_delay=0.0)
    counts = sorted({sample.alive for sample in run.samples if sample.t_s < 200})
    assert counts == [0, 1, 5, 10, 20, 40, 80, 100]
    assert first_seen(run, 100) - first_seen(run, 5) == pytest.approx(5 * 15.0)


def test_without_the_step_limit_all_are_ordered_at_the_first_sync():
    defaults, unlimited = baselines()
    run = keda_hpa_baseline([(0.0, 5000.0)] * 100, start_delay=0.0, settings=unlimited)
    assert {sample.alive for sample in run.samples if sample.t_s < 200} == {0, 1, 100}
    assert (defaults.up_percent, defaults.up_pods) == (100.0, 4)
    assert math.isinf(unlimited.up_percent)


def test_a_ratio_within_the_tolerance_is_left_alone():
    settings = KedaHpa(up_percent=math.inf)
    jobs = [(0.0, 5000.0)] * 100
    run = keda_hpa_baseline([*jobs, *[(500.0, 5000.0)] * 9], start_delay=0.0, settings=settings)
    assert run.most_workers == 100
    more = keda_hpa_baseline([*jobs, *[(500.0, 5000.0)] * 11], start_delay=0.0, settings=settings)
    assert more.most_workers == 111


def test_slots_count_in_the_target():
    run = keda_hpa_baseline([(0.0, 5000.0)] * 100, slots=3, start_delay=0.0)
    assert run.most_workers == 34


def test_beside_policies_the_baselines_have_the_highest_of_their_ceilings():
    for policies, most in (
        ((), 1000),
        ([MaxCount(max=4)], 4),
        ([Fixed(0)], 1),
        ([Fixed(2), PoolWithThreshold(max=9)], 9),
        ([MaxCount(max=4), FullyElastic()], 1000),
    ):
        assert [baseline.max_replicas for baseline in baselines(policies)] == [most, most]


def test_the_most_replicas_are_kept():
    run = keda_hpa_baseline([(0.0, 50.0)] * 100, start_delay=0.0, settings=KedaHpa(max_replicas=7))
    assert run.most_workers == 7


def test_workers_stay_for_the_stabilization_window_and_the_last_for_the_cooldown():
    run = keda_hpa_baseline([(0.0, 60.0)] * 50, start_delay=0.0, settings=KedaHpa(up_percent=math.inf))
    done_at = next(s.t_s for s in reversed(run.samples) if s.queued or s.leased)
    begun = next(s.t_s for s in run.samples if s.alive == 50)
    fewer = next(s.t_s for s in run.samples if s.t_s > begun and s.alive < 50)
    assert 300 <= fewer - done_at <= 300 + 3 * 15
    assert 300 < run.end_s - done_at <= 300 + 2 * 30


def test_idle_workers_go_before_busy_ones():
    jobs = [(0.0, 10.0)] * 30 + [(0.0, 3000.0)] * 5
    settings = KedaHpa(stabilization_s=0.0, up_percent=math.inf)
    run = keda_hpa_baseline([*jobs, (1000.0, 100.0)], start_delay=0.0, settings=settings)
    assert next(sample for sample in run.samples if sample.t_s > 200).alive == 5
    assert run.orders == 36, (
        "one more than the 35 for the last job: nobody was idle any more, nobody was drained busy"
    )


def test_a_busy_worker_that_is_taken_away_finishes_its_job():
    jobs = [(0.0, 10.0)] * 30 + [(0.0, 3000.0)] * 5
    run = keda_hpa_baseline(jobs, start_delay=0.0, settings=KedaHpa(stabilization_s=0.0, up_percent=math.inf))
    assert run.unfinished == 0
    assert run.spent.busy_s == 30 * 10.0 + 5 * 3000.0
