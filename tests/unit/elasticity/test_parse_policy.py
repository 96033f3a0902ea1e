from __future__ import annotations

import random

import pytest

from lakeshore_elasticity import (
    Common,
    Fixed,
    FullyElastic,
    MaxCount,
    PolicyError,
    PoolWithThreshold,
    ScaleDown,
    ScaleUp,
    parse_policy,
)

FULL = {
    "kind": "pool_with_threshold",
    "warm": 2,
    "threshold": 8,
    "max": 16,
    "ageLimitSeconds": 30,
    "idleTimeoutSeconds": 60,
    "scaleUp": {"maxStep": 4, "economy": 0.25},
    "scaleDown": {"cancelPendingAfterSeconds": 5, "stabilizationSeconds": 20, "maxFractionPerStep": 0.5},
    "match": ["gpu", "zone=a"],
    "staleAfterSeconds": 7.5,
}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"kind": "fixed"}, Fixed(replicas=1)),
        ({"kind": "fully_elastic"}, FullyElastic(idle_timeout_s=120.0, cap=1000)),
        (
            {"kind": "pool_with_threshold", "max": 3},
            PoolWithThreshold(max=3, warm=1, threshold=1, age_limit_s=None, idle_timeout_s=120.0),
        ),
        ({"kind": "max_count", "max": 4}, MaxCount(max=4, idle_timeout_s=120.0)),
    ],
)
def test_defaults_are_those_of_the_table(raw, expected):
    assert parse_policy(raw) == expected
    assert expected.common == Common(ScaleUp(None, 0.0), ScaleDown(10.0, 0.0, 0.25), (), 15.0)


def test_every_field_is_read():
    assert parse_policy(FULL) == PoolWithThreshold(
        max=16,
        warm=2,
        threshold=8,
        age_limit_s=30.0,
        idle_timeout_s=60.0,
        common=Common(ScaleUp(4, 0.25), ScaleDown(5.0, 20.0, 0.5), ("gpu", "zone=a"), 7.5),
    )


def test_the_order_of_the_fields_does_not_matter():
    items = list(FULL.items())
    for seed in range(20):
        random.Random(seed).shuffle(items)
        assert parse_policy(dict(items)) == parse_policy(FULL)


@pytest.mark.parametrize("kind", ["fully-elastic", "max-count", "pool-with-threshold"])
def test_hyphens_are_for_the_command_line_alone(kind):
    raw = {"kind": kind} if kind == "fully-elastic" else {"kind": kind, "max": 2}
    with pytest.raises(PolicyError, match=r"^kind: .*underscores"):
        parse_policy(raw)
    assert parse_policy(raw, hyphens=True) == parse_policy({**raw, "kind": kind.replace("-", "_")})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, r"^kind: None is not a policy"),
        ({"kind": "max_cuont"}, r"^kind: .*did you mean max_count\?"),
        ({"kind": ["fixed"]}, r"^kind: "),
        ({"kind": "max_count"}, r"^max: is needed"),
        ({"kind": "max_count", "max": 0}, r"^max: 0 is not a whole number from 1"),
        ({"kind": "max_count", "max": True}, r"^max: True"),
        ({"kind": "max_count", "max": 2.0}, r"^max: 2.0"),
        ({"kind": "max_count", "max": "2"}, r"^max: '2'"),
        ({"kind": "max_count", "max": 10**9}, r"^max: 1000000000 .* to 100000"),
        (
            {"kind": "max_count", "max": 2, "idleTimoutSeconds": 3},
            r"^idleTimoutSeconds: .*idleTimeoutSeconds\?",
        ),
        ({"kind": "max_count", "max": 2, "warm": 1}, r"^warm: .*belongs to pool_with_threshold"),
        ({"kind": "fully_elastic", "max": 2}, r"^max: .*belongs to pool_with_threshold, max_count"),
        ({"kind": "fixed", "idleTimeoutSeconds": 2}, r"^idleTimeoutSeconds: "),
        ({"kind": "fixed", "replicas": -1}, r"^replicas: -1"),
        ({"kind": "fully_elastic", "cap": 0}, r"^cap: 0"),
        ({"kind": "fully_elastic", "idleTimeoutSeconds": -1}, r"^idleTimeoutSeconds: -1"),
        ({"kind": "fully_elastic", "idleTimeoutSeconds": float("nan")}, r"^idleTimeoutSeconds: nan"),
        ({"kind": "fully_elastic", "idleTimeoutSeconds": float("inf")}, r"^idleTimeoutSeconds: inf"),
        ({"kind": "fully_elastic", "idleTimeoutSeconds": None}, r"^idleTimeoutSeconds: None"),
        ({"kind": "pool_with_threshold", "max": 2, "warm": 3}, r"^warm: 3 is more than max, 2"),
        ({"kind": "pool_with_threshold", "max": 2, "threshold": -1}, r"^threshold: -1"),
        ({"kind": "pool_with_threshold", "max": 2, "ageLimitSeconds": "1"}, r"^ageLimitSeconds: '1'"),
        ({"kind": "fixed", "scaleUp": 3}, r"^scaleUp: expected fields"),
        ({"kind": "fixed", "scaleUp": {"maxstep": 3}}, r"^scaleUp\.maxstep: .*did you mean maxStep\?"),
        ({"kind": "fixed", "scaleUp": {"maxStep": 0}}, r"^scaleUp\.maxStep: 0"),
        ({"kind": "fixed", "scaleUp": {"economy": 1.5}}, r"^scaleUp\.economy: 1.5"),
        ({"kind": "fixed", "scaleDown": {"maxFractionPerStep": 0}}, r"^scaleDown\.maxFractionPerStep: 0"),
        ({"kind": "fixed", "scaleDown": {"maxFractionPerStep": 1.1}}, r"^scaleDown\.maxFractionPerStep: 1.1"),
        (
            {"kind": "fixed", "scaleDown": {"stabilizationSeconds": -2}},
            r"^scaleDown\.stabilizationSeconds: -2",
        ),
        ({"kind": "fixed", "match": "gpu"}, r"^match: 'gpu' is not a list"),
        ({"kind": "fixed", "match": ["gpu", 3]}, r"^match: "),
        ({"kind": "fixed", "staleAfterSeconds": []}, r"^staleAfterSeconds: \[\]"),
    ],
)
def test_what_cannot_work_is_refused_naming_the_field(raw, message):
    with pytest.raises(PolicyError, match=message) as caught:
        parse_policy(raw)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_a_policy_that_is_no_mapping_is_refused():
    with pytest.raises(PolicyError, match="expected fields"):
        parse_policy(["fixed"])
