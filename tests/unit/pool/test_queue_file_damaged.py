"""Whatever is done to a valid queue.yaml: it parses, or one line says what is wrong."""

import copy

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.pool.queue_file import parse_queues
from full_queue import FULL


def paths(value, at=()):
    yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths(item, (*at, name))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_mutated_document_parses_or_is_refused_in_one_line(data):
    """Replace, rename or remove any part of a valid document."""
    document = copy.deepcopy(yaml.safe_load(FULL))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(paths(document), key=repr)))
        if not path:
            continue
        parent = document
        for name in path[:-1]:
            parent = parent[name]
        action = data.draw(st.sampled_from(["replace", "rename", "remove"]))
        if action == "replace":
            parent[path[-1]] = data.draw(ANYTHING)
        else:
            value = parent.pop(path[-1])
            if action == "rename":
                parent[data.draw(st.text(max_size=10) | st.none() | st.integers())] = value
    _parses_or_is_refused(yaml.safe_dump(document))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(FULL)), st.integers(0, 12), st.text(max_size=6))
def test_a_damaged_text_parses_or_is_refused_in_one_line(at, cut, text):
    _parses_or_is_refused(FULL[:at] + text + FULL[at + cut :])


def _parses_or_is_refused(text):
    try:
        found = parse_queues(text, where="queue.yaml")
    except ConfigError as exc:
        assert "\n" not in str(exc)
        assert "\r" not in str(exc)
    else:
        assert found
