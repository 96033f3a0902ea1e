"""Reports of what went wrong in similar systems, replayed against the policies."""

from __future__ import annotations

import pytest

from lakeshore_elasticity import FullyElastic, MaxCount, PoolWithThreshold

ELASTIC = [FullyElastic(), MaxCount(max=1000), PoolWithThreshold(max=1000, warm=0)]
kinds = pytest.mark.parametrize("policy", ELASTIC, ids=lambda policy: type(policy).__name__)


@kinds
def test_report_13_an_empty_backlog_with_ten_leased_takes_no_leased_worker_away(world, policy):
    w = world(policy)
    w.submit([7200.0] * 10)
    w.run(7000.0)
    assert w.leased == 10
    assert w.there == 10
    assert not any(decision.victims for _, decision in w.decisions)
    w.run_until_done()
    assert w.finished == 10


def test_report_13_of_a_pool_half_busy_only_idle_workers_go(world):
    w = world(FullyElastic(idle_timeout_s=30))
    w.submit([10.0] * 10 + [3600.0] * 10)
    w.run(1000.0)
    assert w.leased == 10
    assert w.there == 10, "the idle ten have gone, the busy ten have not"


@kinds
def test_report_16_workers_rise_again_for_the_second_submit(world, policy):
    w = world(policy)
    w.submit([20.0] * 20)
    w.run_until_done()
    w.run(400.0)
    assert w.there == 0
    w.submit([20.0] * 10)
    w.run(10.0)
    assert w.there == 10
    w.run_until_done()
    assert w.finished == 30


@kinds
def test_report_16_workers_rise_again_while_the_first_are_going(world, policy):
    w = world(policy)
    w.submit([20.0] * 20)
    w.run_until_done()
    w.run(115.0)
    w.submit([20.0] * 10)
    w.run_until_done()
    assert w.finished == 30
    assert w.ordered == 20, "the ten are served by those that were idle"


@kinds
def test_report_18_there_is_no_scale_up_in_the_tail_of_900_jobs(world, policy):
    w = world(policy)
    w.submit([float(5 + index % 20) for index in range(870)] + [1200.0] * 30)
    w.run(60.0)
    peak_at = w.now
    w.run_until_done()
    assert w.finished == 900
    assert [one for one in w.changes(peak_at) if one.kind == "scale_up"] == []
    assert w.ordered == 900


@kinds
def test_report_19_pending_workers_count_while_pods_take_three_minutes(world, policy):
    w = world(policy, start_s=180.0)
    w.submit([600.0] * 10)
    w.run(179.0)
    assert w.ordered == 10
    assert {decision.desired for _, decision in w.decisions} == {10}
    assert {decision.wanted for _, decision in w.decisions} == {10}
    w.run_until_done()
    assert w.ordered == 10
