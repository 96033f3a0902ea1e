"""Elasticity: how many workers a queue shall have. Pure functions, and a simulator that runs them on a trace."""

from lakeshore_elasticity.deciding import decide
from lakeshore_elasticity.decision import Decision, State
from lakeshore_elasticity.policies import (
    Common,
    Fixed,
    FullyElastic,
    MaxCount,
    Policy,
    PolicyError,
    PoolWithThreshold,
    ScaleDown,
    ScaleUp,
    parse_policy,
)
from lakeshore_elasticity.signals import Signals, Worker
from lakeshore_elasticity.steady import moving_rate

__all__ = [
    "Common",
    "Decision",
    "Fixed",
    "FullyElastic",
    "MaxCount",
    "Policy",
    "PolicyError",
    "PoolWithThreshold",
    "ScaleDown",
    "ScaleUp",
    "Signals",
    "State",
    "Worker",
    "decide",
    "moving_rate",
    "parse_policy",
]
