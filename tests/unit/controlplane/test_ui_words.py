"""Numbers, times, printed text and pipelines as the page says them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshore_controlplane.api.ui import words
from lakeshore_controlplane.api.ui.decisions import change_text
from lakeshore_controlplane.api.ui.lineage_tree import plan_tree


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),  # noqa: RUF001
        (0.0, "0 s"),
        (0.25, "0.25 s"),
        (12.4, "12 s"),
        (59.7, "1 min"),
        (185, "3 min 5 s"),
        (7_440, "2 h 4 min"),
        (86_400 * 7, "7 d"),
        (86_400 * 1_500 + 3_600, "1,500 d 1 h"),
        (float("nan"), "–"),  # noqa: RUF001
        (-5, "0 s"),
    ],
)
def test_durations_are_said_in_two_units_at_most(seconds, text):
    assert words.span(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (2_690, "2.69 kB"), (64 << 20, "67.1 MB")]
)
def test_sizes_are_said_in_three_digits(number, text):
    assert words.size(number) == text


@given(at=st.floats(allow_nan=False), now=st.floats(0, 1e11))
def test_any_time_can_be_said(at, now):
    assert words.ago(at, now).startswith("<time ") or abs(at) > 1e300


def test_printed_text_is_shown_as_a_terminal_would():
    text = "\x1b[1;32mgreen\x1b[0m\r\n10%\r20%\r100%\nlast\x1b]0;title\x07 line"
    assert words.terminal_text(text) == "green\n100%\nlast line"


def test_long_text_keeps_its_ends():
    found = words.middle_out("a" * 5_000 + "b" * 5_000, 100)
    assert found.startswith("a" * 50 + "\n... 9,900 characters")
    assert found.endswith("b" * 50)


def test_a_decision_is_told_by_what_became_different():
    assert change_text({"workers": 1, "queued": 8}, {"workers": 3, "queued": 8}) == "workers 1 → 3"
    assert change_text({"workers": 1}, {"workers": 1}) == "workers 1 → 1"
    assert change_text({}, {"idle": 2}) == "idle none → 2"
    assert change_text("odd", None) == ""


def row(name, parent=None):
    return {"id": name, "parent": parent}


def named(nodes):
    return [(node.depth, node.row["id"]) for node in nodes]


def test_a_tree_follows_its_parents():
    rows = [row("root"), row("a", "root"), row("b", "root"), row("b1", "b"), row("c", "root"), row("b2", "b")]
    found, left_out = plan_tree(rows, rows[2])
    assert named(found) == [(0, "root"), (1, "b"), (2, "b1"), (2, "b2"), (1, "a"), (1, "c")]
    assert left_out == 0


def test_parents_in_a_circle_end_somewhere():
    rows = [row("a", "b"), row("b", "a"), row("self", "self")]
    assert named(plan_tree(rows, rows[0])[0]) == [(0, "b"), (1, "a")]
    assert named(plan_tree(rows, rows[2])[0]) == [(0, "self")]


def test_a_large_pipeline_is_cut_around_the_job():
    rows = [row("root"), *[row(f"child-{n}", "root") for n in range(400)]]
    found, left_out = plan_tree(rows, rows[300])
    assert named(found)[:2] == [(0, "root"), (1, "child-299")]
    assert len(found) == 100
    assert left_out == 301


def test_a_chain_of_thousands_is_cut():
    rows = [row(f"n{n}", f"n{n - 1}" if n else None) for n in range(3_000)]
    found, _ = plan_tree(rows, rows[-1])
    assert len(found) == 100
    assert found[-1].row["id"] == "n2999"
