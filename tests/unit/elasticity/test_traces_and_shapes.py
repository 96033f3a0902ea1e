"""Traces from files and the built-in ones, and start delays."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshore_elasticity.simulator import (
    BUILTIN_SHAPES,
    FixedDelay,
    LognormalDelay,
    Trace,
    TraceError,
    load_trace,
    shape,
)


@pytest.fixture
def csv(tmp_path):
    def write(text, name="jobs.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_a_file_of_time_and_duration_is_read(csv):
    trace = load_trace(csv("time,duration\n0,2.5\n10,1\n"))
    assert (trace.name, trace.arrivals, trace.durations) == ("jobs", [0.0, 10.0], [2.5, 1.0])


@pytest.mark.parametrize(
    "text",
    [
        "0,2.5\n10,1\n",
        "Time, Duration\r\n0,2.5\r\n\r\n10,1\r\n",
        "\ufefftime,duration\n10,1\n0,2.5",
        "time,duration\n1700000000,2.5\n1700000010,1\n",
    ],
    ids=["no header", "windows", "byte order mark, out of order", "unix times"],
)
def test_files_are_read_as_people_write_them(csv, text):
    trace = load_trace(csv(text))
    assert (trace.arrivals, trace.durations) == ([0.0, 10.0], [2.5, 1.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,duration\n0,1\n5,soon\n", r"jobs\.csv:3: duration 'soon' is not a number of seconds"),
        ("time,duration\n,1\n", r"jobs\.csv:2: time '' is not"),
        ("0,1\n1,nan\n", r"jobs\.csv:2: duration 'nan'"),
        ("0,1\ninf,1\n", r"jobs\.csv:2: time 'inf'"),
        ("0,1\n1,-3\n", r"jobs\.csv:2: duration -3 is below 0"),
        ("0,1,2\n", r"jobs\.csv:1: 3 columns, expected two: time,duration"),
        ("0,1\n\n7\n", r"jobs\.csv:3: 1 columns"),
        ("0,1\ntime,duration\n", r"jobs\.csv:2: time 'time'"),
        ("", r"jobs\.csv: no jobs in it"),
        ("time,duration\n", r"jobs\.csv: no jobs in it"),
        (b"\xff\xfe\x00", r"jobs\.csv: not a text file in UTF-8"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_line(csv, text, message):
    with pytest.raises(TraceError, match=message) as caught:
        load_trace(csv(text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_told_with_what_to_give(tmp_path):
    with pytest.raises(TraceError, match=r"none\.csv: No such file.*: give the path of a CSV"):
        load_trace(tmp_path / "none.csv")
    with pytest.raises(TraceError, match="Is a directory"):
        load_trace(tmp_path)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e4)), max_size=30))
def test_jobs_in_any_order_become_a_trace_in_order(jobs):
    trace = Trace.of(jobs)
    assert trace.arrivals == sorted(trace.arrivals)
    assert sorted(zip(trace.arrivals, trace.durations, strict=True)) == sorted(jobs)


@pytest.mark.parametrize("job", [(-1.0, 1.0), (0.0, -1.0), (float("nan"), 1.0), (0.0, float("inf"))])
def test_jobs_that_cannot_be_are_refused(job):
    with pytest.raises(TraceError, match="numbers from 0"):
        Trace.of([(0.0, 1.0), job])


@pytest.mark.parametrize("name", BUILTIN_SHAPES)
def test_a_shape_is_the_same_for_the_same_seed_and_another_for_another(name):
    assert shape(name, 3) == shape(name, 3)
    assert shape(name, 3) != shape(name, 4)
    assert 0 <= shape(name).arrivals[0] <= shape(name).arrivals[-1]


def test_the_shapes_are_what_they_are_called():
    assert BUILTIN_SHAPES == ("steady", "burst", "diurnal", "long_tail", "batches")
    batches = shape("batches")
    assert [batches.arrivals.count(600.0 * batch) for batch in range(6)] == [100] * 6
    assert statistics.mean(batches.durations) == pytest.approx(20, rel=0.05)
    assert len(shape("burst")) == 1000
    assert max(shape("burst").arrivals) <= 10
    assert len(shape("long_tail")) == 900
    assert max(shape("long_tail").durations) > 15 * statistics.median(shape("long_tail").durations)
    steady = shape("steady").arrivals
    assert sum(at < 1800 for at in steady) == pytest.approx(len(steady) / 2, rel=0.1)
    day = shape("diurnal").arrivals
    assert sum(12_000 < at < 16_800 for at in day) > 20 * sum(at < 4800 or at > 24_000 for at in day)


def test_hyphens_and_slips_of_the_pen_in_a_shapes_name():
    assert shape("long-tail") == shape("long_tail")
    with pytest.raises(TraceError, match="did you mean diurnal"):
        shape("diurnall")
    with pytest.raises(TraceError, match="there are steady, burst, diurnal, long_tail, batches"):
        shape("x")


def test_lognormal_delays_keep_their_mean_and_repeat_with_their_seed():
    draw, again, other = (LognormalDelay(90.0, 0.5).sampler(seed) for seed in (1, 1, 2))
    drawn = [draw() for _ in range(20_000)]
    assert statistics.mean(drawn) == pytest.approx(90, rel=0.03)
    assert drawn[:5] == [again() for _ in range(5)]
    assert drawn[0] != other()
    assert min(drawn) > 0


def test_fixed_delays_are_fixed_and_no_delay_is_none():
    draw = FixedDelay(7.0).sampler(1)
    assert {draw() for _ in range(5)} == {7.0}
    assert LognormalDelay(0.0).sampler(1)() == 0.0


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_delay_that_cannot_be_is_refused(seconds):
    for kind in (FixedDelay, LognormalDelay):
        with pytest.raises(ValueError, match="number of seconds from 0"):
            kind(seconds)
