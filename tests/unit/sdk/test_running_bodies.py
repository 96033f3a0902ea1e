"""How bodies of the four kinds run, end, fail and are closed."""

import asyncio

import pytest

from dreamlake.lakeshore import RunContext, run
from dreamlake.lakeshore.function.body import call_locally, run_invocation
from dreamlake.lakeshore.function.kinds import body_kind


def invoke(fn, *args, emit=None, **kwargs):
    emitted = []
    result = run_invocation(
        fn, args, kwargs, context=RunContext(invocation_id="I", attempt=2), emit=emit or emitted.append
    )
    return result, emitted


def test_sync_and_async_bodies_give_what_they_return():
    async def later(x, *, y):
        await asyncio.sleep(0)
        return x + y

    assert invoke(lambda x, *, y: x + y, 1, y=2) == (3, [])
    assert invoke(later, 1, y=2) == (3, [])


def test_generators_emit_what_they_yield_and_the_result_is_what_they_return():
    def stream(n):
        yield from range(n)
        return "total"

    async def async_stream(n):
        for value in range(n):
            yield value

    assert invoke(stream, 3) == ("total", [0, 1, 2])
    assert invoke(async_stream, 3) == (None, [0, 1, 2])


def test_values_are_emitted_while_the_body_runs():
    order = []

    def stream():
        for n in range(2):
            order.append(f"made {n}")
            yield n

    invoke(stream, emit=lambda n: order.append(f"sent {n}"))
    assert order == ["made 0", "sent 0", "made 1", "sent 1"]


def test_the_running_call_is_known_to_the_body_and_only_to_it():
    def body():
        return run.invocation_id, run.attempt

    async def async_body():
        await asyncio.sleep(0)
        return run.invocation_id, run.attempt

    def stream():
        yield run.invocation_id

    assert invoke(body)[0] == ("I", 2)
    assert invoke(async_body)[0] == ("I", 2)
    assert (
        invoke(stream, emit=lambda _value: pytest.fail("in force") if run.invocation_id else None)[0] is None
    )
    assert run.invocation_id is None


def test_report_34_an_exception_object_that_is_yielded_is_a_value_like_any_other():
    def stream():
        yield ValueError("as a value")
        yield 2

    _, emitted = invoke(stream)
    assert [type(value) for value in emitted] == [ValueError, int]


def test_report_34_a_body_that_raises_midway_has_emitted_what_came_before():
    emitted = []

    def stream():
        yield 1
        raise OSError("disk")

    async def async_stream():
        yield 1
        raise OSError("disk")

    for body in (stream, async_stream):
        with pytest.raises(OSError, match="disk"):
            invoke(body, emit=emitted.append)
    assert emitted == [1, 1]


def test_report_34_a_stream_is_closed_when_its_frames_cannot_be_sent():
    closed = []

    def stream():
        try:
            yield 1
        finally:
            closed.append("generator")

    async def async_stream():
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            closed.append("async generator")

    def refuse(value):
        raise ConnectionError("cancelled")

    for body in (stream, async_stream):
        with pytest.raises(ConnectionError):
            invoke(body, emit=refuse)
    assert closed == ["generator", "async generator"]


def test_report_34_cancelling_an_async_generator_closes_it():
    closed = asyncio.Event()

    async def endless():
        try:
            while True:
                yield 1
                await asyncio.sleep(30)
        finally:
            closed.set()

    async def consume():
        async for _ in call_locally(endless, (), {}):
            pass

    async def main():
        task = asyncio.create_task(consume())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), 10)

    asyncio.run(main())


def test_an_async_body_runs_where_an_event_loop_runs_already():
    async def body():
        return run.attempt

    async def main():
        return invoke(body)[0]

    assert asyncio.run(main()) == 2


def test_a_local_generator_passes_on_what_is_sent_and_thrown():
    def echo():
        got = yield "ready"
        try:
            yield got
        except KeyError:
            yield "caught"

    stream = call_locally(echo, (), {})
    assert next(stream) == "ready"
    assert stream.send("hello") == "hello"
    assert stream.throw(KeyError("x")) == "caught"
    with pytest.raises(StopIteration):
        next(stream)


def test_closing_a_local_stream_early_closes_the_body():
    closed = []

    def stream():
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    made = call_locally(stream, (), {})
    next(made)
    made.close()
    assert closed == [True]


def test_kinds_are_told_of_functions_partials_and_instances():
    from functools import partial

    async def coroutine(): ...

    def generator():
        yield

    async def async_generator():
        yield

    class Callable_:
        async def __call__(self): ...

    assert [body_kind(fn) for fn in (len, coroutine, generator, async_generator)] == [
        "sync",
        "async",
        "generator",
        "async_generator",
    ]
    assert body_kind(partial(generator)) == "generator"
    assert body_kind(Callable_()) == "async"
