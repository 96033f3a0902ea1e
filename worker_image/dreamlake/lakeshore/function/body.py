"""Running bodies: the one place, for calls at home and for invocations on a worker.

Both enforce the return-your-keys contract with the same words, and give each call a ledger of its own.
"""

from __future__ import annotations

import contextvars
import threading
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.context.run_context import (
    RunContext,
    current_context,
    enter_context,
    leave_context,
)
from dreamlake.lakeshore.function.kinds import body_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence


class Holder:
    """What wraps a function and is resolved, by reference, in its place (``UDF``)."""

    fn: Callable[..., Any]


def run_invocation(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    context: RunContext,
    emit: Callable[[Any], None],
) -> Any:
    """Run the body of an invocation to its end, in this thread, and give its result (not packed).

    A sync or async body's result is what it returns. A generator's yields, sync or async, go to ``emit`` one
    by one; its result is what it returns, so None unless it says otherwise, and always None for an async
    generator. An exception of the body, of ``emit`` or of the contract is raised after the body has been
    closed. An async body runs on an event loop of its own.
    """
    call = _Call(fn.fn if isinstance(fn, Holder) else fn, context)
    value = call.start(args, kwargs)
    kind = type(value)
    if kind is GeneratorType:
        return _emit_all(call.generator(value), emit)
    if kind is CoroutineType:
        return _run_async(call.coroutine(value))
    if kind is AsyncGeneratorType:
        return _run_async(_emit_all_async(call.async_generator(value), emit))
    return call.finish(value)


def call_locally(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a body as Python would, under the contract.

    An async body gives a coroutine, a generator an iterator, an async generator an async iterator. Scopes
    opened by the caller hold in it.
    """
    call = _Call(fn.fn if isinstance(fn, Holder) else fn, current_context())
    value = call.start(args, kwargs)
    kind = type(value)
    if kind is GeneratorType:
        return call.generator(value)
    if kind is CoroutineType:
        return call.coroutine(value)
    if kind is AsyncGeneratorType:
        return call.async_generator(value)
    return call.finish(value)


class _Call:
    """One call of one body: its context is in force exactly while the body's own code runs."""

    __slots__ = ("body", "context")

    def __init__(self, body: Callable[..., Any], context: RunContext) -> None:
        self.body = body
        self.context = context.for_call()

    def start(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        token = enter_context(self.context)
        try:
            return self.body(*args, **kwargs)
        finally:
            leave_context(token)

    def finish(self, value: Any) -> Any:
        ledger = self.context.ledger
        if ledger:
            ledger.check_return(body_name(self.body), value)
            self.context.storage.publish(ledger.locations)
        return value

    def _finish_stream(self, value: Any) -> Any:
        ledger = self.context.ledger
        if ledger:
            ledger.check_end(body_name(self.body), value)
            self.context.storage.publish(ledger.locations)
        return value

    def _check_yield(self, value: Any) -> None:
        if self.context.ledger:
            self.context.ledger.check_yield(body_name(self.body), value)

    async def coroutine(self, started: Coroutine[Any, Any, Any]) -> Any:
        token = enter_context(self.context)
        try:
            value = await started
        finally:
            leave_context(token)
        return self.finish(value)

    def generator(self, started: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = started.__next__
        try:
            while True:
                token = enter_context(self.context)
                try:
                    value = step()
                except StopIteration as end:
                    return self._finish_stream(end.value)
                finally:
                    leave_context(token)
                self._check_yield(value)
                step = yield from _step_of(started, value)
        finally:
            token = enter_context(self.context)
            try:
                started.close()
            finally:
                leave_context(token)

    async def async_generator(self, started: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
        sent: Any = None
        thrown: Exception | None = None
        try:
            while True:
                token = enter_context(self.context)
                try:
                    value = await (started.asend(sent) if thrown is None else started.athrow(thrown))
                except StopAsyncIteration:
                    self._finish_stream(None)
                    return
                finally:
                    leave_context(token)
                self._check_yield(value)
                sent, thrown = None, None
                try:
                    sent = yield value
                except Exception as exc:
                    thrown = exc
        finally:
            token = enter_context(self.context)
            try:
                await started.aclose()
            finally:
                leave_context(token)


def _step_of(started: Generator[Any, Any, Any], value: Any) -> Generator[Any, Any, Callable[[], Any]]:
    """Yield ``value`` and give the step that passes on what the consumer answers: a value or an exception."""
    try:
        sent = yield value
    except Exception as exc:  # GeneratorExit is not one: it ends both
        thrown = exc
        return lambda: started.throw(thrown)
    return started.__next__ if sent is None else lambda: started.send(sent)


def _emit_all(stream: Generator[Any, Any, Any], emit: Callable[[Any], None]) -> Any:
    try:
        while True:
            try:
                value = next(stream)
            except StopIteration as end:
                return end.value
            emit(value)
    finally:
        stream.close()


async def _emit_all_async(stream: AsyncGenerator[Any, Any], emit: Callable[[Any], None]) -> None:
    try:
        async for value in stream:
            emit(value)
    finally:
        await stream.aclose()


def _run_async(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end; in a thread of its own where this one runs an event loop already."""
    import asyncio  # noqa: PLC0415

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main)
    outcome: list[Any] = []
    failure: list[BaseException] = []
    inherited = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.append(inherited.run(asyncio.run, main))
        except BaseException as exc:  # handed to the thread that waits
            failure.append(exc)

    thread = threading.Thread(target=work, name="lakeshore-async-body", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
