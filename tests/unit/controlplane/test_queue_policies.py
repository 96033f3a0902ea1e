"""What a declaration may say, and what is said about what it may not."""

import pytest

from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.services.queue_policies import checked_changes

GOOD = {
    "kind": "priority",
    "kind_params": {"priority_field": "urgency", "temperature": 2},
    "admission": {
        "max_depth": 10,
        "on_full": "block",
        "rate_limit": {"rate": 0.5, "burst": 5},
        "deadline_cutoff_s": 0,
    },
    "elasticity": {"kind": "pool_with_threshold", "max": 8},
    "retention_s": 60,
    "legacy_lease_s": 30.5,
}


def test_a_good_declaration_is_taken_as_it_is():
    found = checked_changes(GOOD)
    assert found["kindParams"] == GOOD["kind_params"]
    assert found["admission"] == GOOD["admission"]
    assert (found["retentionS"], found["legacyLeaseS"]) == (60.0, 30.5)


def test_what_is_not_given_does_not_change():
    assert checked_changes({"kind": "filo", "admission": None}) == {"kind": "filo"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "lifo"}, r"queue kind 'lifo': use one of fifo, priority, filo, boltzmann"),
        ({"kinds": "fifo"}, r"kinds: .*did you mean 'kind'\?"),
        ({"kind_params": {"temperature": 0.0}}, r"temperature 0.0: use a finite number above 0"),
        ({"kind_params": {"temperature": True}}, r"temperature True"),
        ({"kind_params": {"temperature": float("nan")}}, r"temperature nan"),
        ({"kind_params": {"temprature": 1.0}}, r"did you mean 'temperature'\?"),
        ({"kind_params": {"priority_field": 3}}, r"priority_field 3"),
        ({"kind_params": 3}, r"kind_params 3: give its fields"),
        ({"admission": {"max_dept": 3}}, r"admission.max_dept: .*did you mean 'max_depth'\?"),
        ({"admission": {"max_depth": 0}}, r"max_depth 0: use a whole number from 1"),
        ({"admission": {"max_depth": 2.5}}, r"max_depth 2.5"),
        ({"admission": {"max_depth": True}}, r"max_depth True"),
        ({"admission": {"on_full": "drop"}}, r"on_full 'drop': use one of reject, block"),
        ({"admission": {"rate_limit": {}}}, r"rate_limit.rate: give"),
        ({"admission": {"rate_limit": {"rate": 0}}}, r"rate_limit.rate 0: use a finite number above 0"),
        ({"admission": {"rate_limit": {"rate": 1, "burst": 0}}}, r"burst 0: .*at least 1"),
        ({"admission": {"rate_limit": {"rate": 1, "brust": 1}}}, r"did you mean 'burst'\?"),
        ({"admission": {"rate_limit": 5}}, r"rate_limit 5: give its fields"),
        ({"admission": {"deadline_cutoff_s": -1}}, r"deadline_cutoff_s -1"),
        ({"admission": {"deadline_cutoff_s": float("inf")}}, r"deadline_cutoff_s inf"),
        ({"elasticity": {"kind": "fully-elastic"}}, r"write 'fully_elastic', with underscores"),
        ({"elasticity": {"kind": "magic"}}, r"use one of fixed, fully_elastic"),
        ({"elasticity": {"max": 3}}, r"elasticity.kind None: use one of"),
        ({"retention_s": 0}, r"retention_s 0: use a finite number above 0"),
        ({"retention_s": "7d"}, r"retention_s 7d: use"),
        ({"legacy_lease_s": 10**400}, r"legacy_lease_s 1"),
    ],
)
def test_a_wrong_one_is_refused_with_the_fix(fields, said):
    with pytest.raises(BadRequest, match=said):
        checked_changes(fields)
