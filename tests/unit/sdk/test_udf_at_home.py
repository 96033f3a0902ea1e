"""@udf as a decorator, and calls that stay in this process."""

import asyncio
import inspect
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import cloudpickle
import pytest

from dreamlake.lakeshore import UDF, RunConfig, SyncQueue, Thunk, thunk, udf
from dreamlake.lakeshore.dispatch.plane import Backoff
from dreamlake.lakeshore.errors import ConfigError


@udf
def double(x: int) -> int:
    """Give twice x."""
    return 2 * x


@udf(queue="gpu")
def triple(x: int) -> int:
    return 3 * x


class Tools:
    @staticmethod
    @udf
    def half(x):
        return x / 2

    @udf
    def method(self, x):
        return x


def test_a_udf_keeps_the_functions_name_text_and_signature():
    assert isinstance(double, UDF)
    assert (double.__name__, double.__doc__, double.__wrapped__) == ("double", "Give twice x.", double.fn)
    assert inspect.signature(double) == inspect.signature(double.fn)
    assert repr(triple) == "<udf triple on 'gpu'>"


def test_without_a_queue_a_plain_call_runs_here():
    assert double(4) == 8
    assert double.local(x=4) == 8


def test_local_forces_a_local_run_of_a_udf_with_a_queue():
    assert triple.local(2) == 6


def test_the_four_kinds_of_body_give_what_python_gives():
    @udf
    async def later(x):
        await asyncio.sleep(0)
        return x

    @udf
    def stream(n):
        yield from range(n)
        return "end"

    @udf
    async def async_stream(n):
        for value in range(n):
            yield value

    async def collect():
        return [value async for value in async_stream(3)]

    assert (double.kind, later.kind, stream.kind, async_stream.kind) == (
        "sync",
        "async",
        "generator",
        "async_generator",
    )
    assert asyncio.run(later(1)) == 1
    assert list(stream(3)) == [0, 1, 2]
    assert asyncio.run(collect()) == [0, 1, 2]


def test_a_udf_without_a_queue_says_how_to_get_one():
    for use in (double.submit, double.remote):
        with pytest.raises(ConfigError, match=r"double has no queue: decorate it with @udf\(queue=\.\.\.\)"):
            use(1)
    with pytest.raises(ConfigError, match="has no queue"):
        double.map([1])


def test_a_method_is_refused_and_a_staticmethod_works():
    assert Tools.half(4) == 2
    assert Tools().half(4) == 2
    with pytest.raises(
        TypeError, match=r"Tools\.method is a udf and cannot be a method.*@staticmethod above @udf"
    ):
        Tools().method(1)


@pytest.mark.parametrize("wrong", [staticmethod(len), double, "gpu"])
def test_what_is_no_function_is_refused(wrong):
    with pytest.raises(TypeError, match=r"@udf|udf already"):
        udf(wrong)


def test_a_udf_of_a_module_pickles_by_reference():
    assert pickle.loads(pickle.dumps(double)) is double
    assert b"Give twice" not in cloudpickle.dumps(double)
    assert pickle.loads(pickle.dumps(Tools.half)) is Tools.half


def test_a_local_udf_travels_by_value_with_its_settings():
    offset = 5

    @udf(queue="gpu", retries=2, transport="pickle")
    def shifted(x):
        return x + offset

    copy = pickle.loads(cloudpickle.dumps(shifted))
    assert copy.local(1) == 6
    assert (copy.queue, copy.transport, copy.base_config().retries) == ("gpu", "pickle", 2)


def test_a_udf_of_main_that_names_itself_travels_by_value():
    program = """
import cloudpickle, subprocess, sys
from dreamlake.lakeshore import udf
@udf(queue="q")
def countdown(n):
    return 0 if n == 0 else countdown.local(n - 1)
blob = cloudpickle.dumps(countdown)
code = "import sys, pickle; print(pickle.load(sys.stdin.buffer).local(3))"
print(subprocess.run([sys.executable, "-c", code], input=blob, capture_output=True, check=True).stdout.decode())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("0", "")


def test_settings_of_the_udf_lie_over_its_config_and_those_of_a_submit_over_both():
    @udf(queue="q", config=RunConfig(priority=1.0, retries=1, timeout_s=9.0), retries=5, backoff=0.25)
    def configured():
        pass

    base = configured.base_config()
    assert (base.priority, base.retries, base.timeout_s, base.backoff) == (1.0, 5, 9.0, Backoff(base_s=0.25))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": -1}, "retries is a whole number"),
        ({"timeout_s": 0}, "timeout_s is a finite number above 0"),
        ({"priority": float("nan")}, "priority is a finite number"),
        ({"deadline": datetime(2030, 1, 1)}, "no time zone"),
        ({"backoff": -1.0}, "backoff is a finite number of at least 0"),
        ({"transport": "carrier pigeon"}, "use one of auto, ref, pickle"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(options, message):
    with pytest.raises(ConfigError, match=message):
        udf(queue="q", **options)(lambda: None)


def test_deadlines_are_unix_seconds_aware_datetimes_or_spans():
    import time

    def deadline_of(given):
        return udf(queue="q", deadline=given)(lambda: None).base_config().deadline

    assert deadline_of(1_900_000_000) == 1_900_000_000.0
    assert deadline_of(datetime(2030, 1, 1, tzinfo=UTC)) == datetime(2030, 1, 1, tzinfo=UTC).timestamp()
    assert deadline_of(timedelta(minutes=5)) == pytest.approx(time.time() + 300, abs=30)


def test_a_thunk_is_a_call_ready_to_run():
    made = thunk(lambda x, y: x - y, 5, y=2)
    assert isinstance(made, Thunk)
    assert made() == 3
    assert thunk(double, 2)() == 4
    with pytest.raises(TypeError, match="thunk takes a function"):
        thunk(3)


@pytest.mark.parametrize("name", ["", None, "x" * 256, "a\0b", "a/b", "a b"])
def test_a_queue_name_that_cannot_be_is_refused(name):
    with pytest.raises(ConfigError, match="queue name"):
        SyncQueue(name)


def test_a_queue_kind_or_temperature_that_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="use one of fifo, priority, filo, boltzmann"):
        SyncQueue("q", kind="lifo")
    for temperature in (0, -1, float("inf"), "hot"):
        with pytest.raises(ConfigError, match="temperature"):
            SyncQueue("q", kind="boltzmann", temperature=temperature)
