"""A simulation skips the looks from which nothing follows; the outcome is that of looking at everything."""

from __future__ import annotations

import pytest

from lakeshore_elasticity import Fixed, FullyElastic, MaxCount, PoolWithThreshold
from lakeshore_elasticity.simulator import BUILTIN_SHAPES, LognormalDelay, Trace, shape
from lakeshore_elasticity.simulator.events import Simulation
from lakeshore_elasticity.simulator.scalers import PolicyScaler


class Restless(PolicyScaler):
    """Looks at everything that happens."""

    def _is_calm(self, signals, decision):
        return False


POLICIES = [
    FullyElastic(),
    FullyElastic(idle_timeout_s=7.0),
    MaxCount(max=12),
    PoolWithThreshold(max=40, warm=3, threshold=2, age_limit_s=20.0, idle_timeout_s=40.0),
    Fixed(replicas=10),
]


def play(scaler, name, slots):
    delay = LognormalDelay(20.0)
    return Simulation(scaler, shape(name), slots=slots, delay=delay, seed=0, tick_s=0.5, known=None).run()


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_the_outcome_is_that_of_looking_at_everything(policy, slots):
    for name in BUILTIN_SHAPES:
        calm, restless = play(PolicyScaler(policy), name, slots), play(Restless(policy), name, slots)
        assert calm.spent.busy_s == pytest.approx(restless.spent.busy_s, rel=0.02), name
        assert calm.worker_hours == pytest.approx(restless.worker_hours, rel=0.03), name
        assert calm.wait_p95_s == pytest.approx(restless.wait_p95_s, rel=0.05, abs=1.0), name
        assert calm.unfinished == restless.unfinished == 0, name


def test_a_steady_thin_trace_is_skipped_through():
    jobs = Trace.of([(float(at), 5.0) for at in range(5_000)])
    looks = []

    class Counted(PolicyScaler):
        def orders(self, load, fleet, now):
            looks.append(now)
            return super().orders(load, fleet, now)

    delay = LognormalDelay(5.0)
    run = Simulation(
        Counted(FullyElastic()), jobs, slots=1, delay=delay, seed=0, tick_s=0.5, known=None
    ).run()
    assert run.unfinished == 0
    assert len(looks) < len(jobs) / 5
