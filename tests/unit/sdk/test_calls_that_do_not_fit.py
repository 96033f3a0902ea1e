"""A call that its function cannot take is refused where it is made."""

import functools

import pytest

from dreamlake.lakeshore import Dispatch, SyncQueue, run_worker, udf
from dreamlake.lakeshore.context.run_context import RunContext, enter_context, leave_context
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.queue.waiting import warn_if_unattended


@pytest.fixture
def plane():
    plane = Dispatch(":memory:")
    yield plane
    plane.close()


@pytest.fixture
def queue(plane):
    return SyncQueue("q", dispatch=plane)


def add(a, b=1):
    return a + b


class Unhashable:
    __hash__ = None

    def __call__(self, a):
        return a


def test_missing_and_surplus_arguments_are_refused_and_nothing_is_stored(queue):
    bound = udf(add, queue=queue)
    for call in (bound.submit, functools.partial(queue.submit, add)):
        with pytest.raises(TypeError, match=r"add\(\) missing a required argument: 'a'"):
            call()
        with pytest.raises(TypeError, match=r"add\(\) too many positional arguments"):
            call(1, 2, 3)
    assert queue.count() == 0


def test_a_misspelled_option_is_told_with_the_nearest_one(queue):
    with pytest.raises(TypeError, match=r"_retry is no option of a submit: did you mean _retries\?"):
        udf(add, queue=queue).submit(1, _retry=3)


def test_map_and_submit_many_refuse_a_function_that_takes_no_item(queue):
    with pytest.raises(TypeError, match="too many positional"):
        udf(lambda: 1, queue=queue).map([1])
    with pytest.raises(TypeError, match="too many positional"):
        queue.submit_many(lambda: 1, [1])


def test_functions_whose_parameters_cannot_be_told_or_hashed_are_let_through(queue):
    queue.submit(min, 3, 4)
    queue.submit(Unhashable(), 1)
    with pytest.raises(TypeError, match="missing a required argument"):
        queue.submit(Unhashable())
    assert queue.count() == 2


def test_run_worker_says_what_it_takes(queue):
    with pytest.raises(ConfigError, match=r"run_worker\(SyncQueue\('mem'\)\)"):
        run_worker("mem")
    with pytest.raises(ConfigError, match="give a dict of functions by name"):
        run_worker(queue, registry=["f"])


def test_a_body_that_waits_for_its_own_queue_is_warned(queue, plane, caplog):
    inner = queue.submit(add, 1)
    warn_if_unattended(plane, "q", inner)
    assert "no worker has registered" in caplog.text
    caplog.clear()
    token = enter_context(RunContext(invocation_id="outer", attempt=1))
    try:
        warn_if_unattended(plane, "q", inner)
    finally:
        leave_context(token)
    assert f"{inner} waits in queue 'q' for the body of outer to end" in caplog.text
