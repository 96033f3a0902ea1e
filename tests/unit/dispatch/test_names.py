"""The grammar of names, over anything that might be given as one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore.dispatch import names
from dreamlake.lakeshore.errors import ConfigError

anything = st.one_of(
    st.text(max_size=140), st.from_regex(r"[\w.:/ -]{0,140}", fullmatch=True), st.none(), st.integers()
)


@pytest.mark.parametrize(
    ("check", "grammar"),
    [
        (names.check_queue, "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"),
        (names.check_namespace, "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"),
        (names.check_invocation, "[A-Za-z0-9._:/-]{1,128}"),
    ],
)
@given(name=anything)
def test_a_name_is_taken_exactly_when_the_grammar_has_it(check, grammar, name):
    if isinstance(name, str) and re.fullmatch(grammar, name, re.ASCII):
        assert check(name) == name
    else:
        with pytest.raises(ConfigError, match="letters, digits"):
            check(name)


@pytest.mark.parametrize("check", [names.check_journal, names.check_worker, names.check_key])
@given(text=anything)
def test_free_names_are_taken_when_the_database_can_keep_them(check, text):
    try:
        good = bool(text.encode()) and "\0" not in text
    except (UnicodeEncodeError, AttributeError):
        good = False
    if good:
        assert check(text) == text
    else:
        with pytest.raises(ConfigError, match="without NUL"):
            check(text)


def test_a_long_name_is_not_repeated_in_full():
    with pytest.raises(ConfigError) as caught:
        names.check_key("x" * 10_000)
    assert len(str(caught.value)) < 200
