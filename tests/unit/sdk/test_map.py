"""UDF.map: order, look-ahead, errors in place, and what is left behind."""

import itertools
import sys
import threading
import time

import pytest

from dreamlake.lakeshore import SyncQueue, udf
from dreamlake.lakeshore.errors import ConfigError, InvocationCancelledError, InvocationFailedError


def double(x):
    return 2 * x


def odd_ones_fail(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


def first_is_slow(x):
    time.sleep(0.05 if x == 0 else 0)
    return x


@pytest.fixture
def q(plane):
    return SyncQueue("q", dispatch=plane)


def test_results_come_in_the_order_of_the_items(q, plane, work_on):
    work_on(plane, "q")
    work_on(plane, "q")
    assert list(udf(first_is_slow, queue=q).map(range(300), chunk=20, timeout=30)) == list(range(300))


def test_an_endless_iterable_is_read_a_bounded_way_ahead(q, plane, work_on):
    work_on(plane, "q")
    taken = []

    def numbers():
        for n in itertools.count():
            taken.append(n)
            yield n

    results = udf(double, queue=q).map(numbers(), chunk=10, ahead=40, timeout=30)
    assert list(itertools.islice(results, 100)) == [2 * n for n in range(100)]
    assert len(taken) <= 100 + 40
    results.close()
    assert q.count("queued") + q.count("running") == 0


def test_the_window_is_never_exceeded_while_the_consumer_rests(q, plane):
    results = udf(double, queue=q).map(itertools.count(), chunk=10, ahead=40, timeout=0.05)
    with pytest.raises(TimeoutError, match=r"still 'queued': start more workers"):
        next(results)
    assert q.count("cancelled") == 40


def test_the_first_failing_item_raises_at_its_position_and_cancels_the_rest(q, plane, work_on):
    work_on(plane, "q", retries=0)
    results = udf(odd_ones_fail, queue=q).map(
        itertools.chain([0, 2, 3], itertools.repeat(4)), chunk=5, timeout=30
    )
    assert [next(results), next(results)] == [0, 2]
    with pytest.raises(InvocationFailedError, match="ValueError: 3 is odd"):
        next(results)
    assert q.count("queued") == 0


def test_errors_are_given_in_place_on_demand(q, plane, work_on):
    work_on(plane, "q", retries=0)
    found = list(udf(odd_ones_fail, queue=q).map(range(4), on_error="return", timeout=30))
    assert found[::2] == [0, 2]
    assert [str(error.error.message) for error in found[1::2]] == ["1 is odd", "3 is odd"]


def test_an_item_cancelled_by_somebody_else_is_an_error_at_its_position(q, plane):
    results = udf(double, queue=q).map([1], on_error="return", timeout=30)
    waiting = threading.Thread(target=lambda: found.extend(results))
    found = []
    waiting.start()
    deadline = time.monotonic() + 10
    while not (rows := plane.invocations(queue="q")) and time.monotonic() < deadline:
        time.sleep(0.005)
    plane.cancel(rows[0]["id"])
    waiting.join(10)
    assert [type(error) for error in found] == [InvocationCancelledError]


def test_an_iterable_that_raises_cancels_what_was_submitted(q, plane):
    def numbers():
        yield from range(10)
        raise OSError("input ended early")

    with pytest.raises(OSError, match="input ended early"):
        list(udf(double, queue=q).map(numbers(), chunk=5, timeout=0.5))
    assert q.count("queued") == 0


def test_a_slow_iterable_is_not_waited_for_to_fill_a_chunk(q, plane, work_on):
    work_on(plane, "q")
    taken = []

    def numbers():
        for n in range(200):
            time.sleep(0.025)  # slow input is what this is about
            taken.append(n)
            yield n

    results = udf(double, queue=q).map(numbers(), timeout=30)
    assert next(results) == 0
    assert len(taken) < 100
    results.close()


def test_a_generator_body_is_refused(q):
    def stream(x):
        yield x

    with pytest.raises(ConfigError, match=r"stream is a generator.*SyncQueue\.stream"):
        udf(stream, queue=q).map([1])


def test_nothing_is_submitted_before_the_first_next(q):
    udf(double, queue=q).map(range(10))
    assert q.count() == 0


def test_an_empty_iterable_gives_nothing(q):
    assert list(udf(double, queue=q).map([])) == []


@pytest.mark.parametrize(
    "options", [{"chunk": 0}, {"ahead": 0}, {"on_error": "skip"}, {"timeout": -1}, {"chunk": 2.5}]
)
def test_options_that_cannot_work_are_refused_at_the_call(q, options):
    with pytest.raises(ConfigError):
        udf(double, queue=q).map([1], **options)


def test_no_bar_is_drawn_where_stderr_is_no_terminal(q, plane, work_on, capfd):
    work_on(plane, "q")
    assert list(udf(double, queue=q).map(range(3), progress=True, timeout=30)) == [0, 2, 4]
    assert capfd.readouterr().err == ""


class Terminal:
    def __init__(self):
        self.text = ""
        self.encoding = "utf-8"

    def isatty(self):
        return True

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass


@pytest.mark.parametrize(("progress", "drawn"), [(True, True), (False, False)])
def test_a_bar_is_drawn_on_a_terminal_when_wanted(q, plane, work_on, monkeypatch, progress, drawn):
    work_on(plane, "q")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert list(udf(double, queue=q).map(range(3), progress=progress, timeout=30)) == [0, 2, 4]
    assert ("double" in terminal.text and "3/3" in terminal.text) == drawn
