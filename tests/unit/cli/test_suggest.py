"""The name that somebody probably meant."""

import pytest

from dreamlake.lakeshore.suggest import nearest

NAMES = ["fifo", "filo", "priority", "boltzmann"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("fif", "fifo"), ("prioritty", "priority"), ("boltzman", "boltzmann"), ("filo", "filo")],
)
def test_a_typo_is_answered_with_the_nearest_name(name, meant):
    assert nearest(name, NAMES) == f": did you mean {meant}?"


@pytest.mark.parametrize("name", ["", "xyz", "\N{SNOWMAN}"])
def test_a_name_like_none_of_them_is_answered_with_all_in_order(name):
    assert nearest(name, NAMES) == ": there are boltzmann, fifo, filo, priority"


def test_of_many_names_a_dozen_are_listed():
    said = nearest("xyz", (f"queue-{n:03}" for n in range(100)))
    assert said.endswith("queue-010, queue-011 and 88 more")
