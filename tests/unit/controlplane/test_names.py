"""The grammar of names is the one that the SDK's planes have, to the letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore.dispatch import names as sdk_names
from dreamlake.lakeshore.errors import ConfigError
from lakeshore_controlplane import names

anything = st.one_of(
    st.text(max_size=80), st.from_regex(r"[\w.:/ -]{0,80}", fullmatch=True), st.none(), st.integers()
)


@pytest.mark.parametrize(
    "check",
    ["check_queue", "check_namespace", "check_invocation", "check_journal", "check_worker", "check_key"],
)
@given(name=anything)
def test_a_name_is_taken_here_exactly_when_it_is_taken_there(check, name):
    try:
        expected = getattr(sdk_names, check)(name)
    except ConfigError as exc:
        with pytest.raises(ValueError) as caught:
            getattr(names, check)(name)
        assert str(caught.value) == str(exc)
    else:
        assert getattr(names, check)(name) == expected


def test_a_long_name_is_not_repeated_in_full():
    for check in (names.check_queue, names.check_invocation, names.check_key):
        with pytest.raises(ValueError) as caught:
            check("x" * 10_000)
        assert len(str(caught.value)) < 250


def test_the_nearest_name_is_meant():
    assert names.nearest("max_dept", ["max_depth", "on_full"]) == ": did you mean 'max_depth'?"
    assert names.nearest("zzz", ["max_depth"]) == ""
