"""``@udf``: a function that runs here or on a queue's workers."""

from __future__ import annotations

import sys
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar, cast, overload

from dreamlake.lakeshore.dispatch.plane import Backoff, Plane, RunConfig
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.function.body import Holder, call_locally
from dreamlake.lakeshore.function.kinds import body_kind, body_name
from dreamlake.lakeshore.function.run_options import Deadline, RunOptions, run_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from dreamlake.lakeshore.queue.base import BaseQueue
    from dreamlake.lakeshore.queue.synchronous import SyncQueue

Transport: TypeAlias = Literal["auto", "ref", "pickle"]
_TRANSPORTS = ("auto", "ref", "pickle")

P = ParamSpec("P")
R = TypeVar("R")


class UDF(Holder, Generic[P, R]):
    """A function with a way to run it elsewhere. Made by ``udf``.

    Calling it without a queue runs it here. With one it submits and waits, and what a call gives depends on
    the kind of body alone: a sync body's value, an async body's coroutine, a generator's iterator, an async
    generator's async iterator. Whoever stops waiting (Ctrl-C, a cancelled task, a closed iterator) cancels
    the invocation, since nobody else knows its id; ``submit`` gives the id and leaves it running.

    Methods are refused, since ``self`` would have to travel; a ``staticmethod`` works.
    """

    def __init__(
        self,
        fn: Callable[P, R],
        *,
        queue: str | BaseQueue | None = None,
        transport: Transport = "auto",
        config: RunConfig | None = None,
        options: RunOptions | None = None,
    ) -> None:
        _check_function(fn)
        if transport not in _TRANSPORTS:
            raise ConfigError(f"transport {transport!r}: use one of {', '.join(_TRANSPORTS)}")
        self.fn: Callable[P, R] = fn
        self.queue = queue
        self.transport: Transport = transport
        self.config = config or RunConfig()
        self.options = options or run_options()
        self.kind = body_kind(fn)
        self.name = getattr(fn, "__name__", body_name(fn))
        update_wrapper(self, fn)

    def __repr__(self) -> str:
        where = "" if self.queue is None else f" on {_queue_name(self.queue)!r}"
        return f"<udf {body_name(self.fn)}{where}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Travel by reference where an import finds this very object, else by its parts."""
        module, name = getattr(self.fn, "__module__", None), getattr(self.fn, "__qualname__", "")
        if module not in {None, "__main__", *_by_value_modules()} and _find(module, name) is self:
            return str(name)
        queue = None if self.queue is None else _queue_name(self.queue)
        return _rebuild, (self.fn, queue, self.transport, self.config, self.options)

    def __get__(self, instance: object | None, owner: type | None = None) -> UDF[P, R]:
        if instance is None:
            return self
        raise TypeError(
            f"{body_name(self.fn)} is a udf and cannot be a method, since {type(instance).__name__} would have "
            "to travel with it: make it a module-level function, or put @staticmethod above @udf"
        )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it: here without a queue; with one, submit it and wait (see the class)."""
        if self.queue is None:
            return cast("R", call_locally(self.fn, args, kwargs))
        if self.kind == "async":
            return cast("R", self._await_remote(args, kwargs))
        if self.kind == "async_generator":
            return cast("R", self._iterate_remote(args, kwargs))
        return cast("R", self._remote(args, kwargs, None))

    def local(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it here, whatever its queue, under the same contract."""
        return cast("R", call_locally(self.fn, args, kwargs))

    def remote(self, *args: Any, _dispatch: Plane | None = None, **kwargs: Any) -> Any:
        """Submit it and block until it has ended: its result, or for both kinds of generator an iterator.

        Takes the options of ``submit``. Raises ``InvocationFailedError`` when the body failed,
        ``InvocationCancelledError``, ``TimeoutError`` after a day of waiting, and ``RuntimeError`` for an
        async body where an event loop runs: ``await`` the plain call there.
        """
        if self.kind.startswith("async") and _loop_runs():
            how = "async for value in" if self.kind == "async_generator" else "await"
            raise RuntimeError(f"remote() would block the running event loop: use `{how} {self.name}(...)`")
        return self._remote(args, kwargs, _dispatch)

    def _remote(self, args: tuple[Any, ...], kwargs: dict[str, Any], dispatch: Plane | None) -> Any:
        from dreamlake.lakeshore.queue.waiting import iterate_owned, wait_owned  # noqa: PLC0415

        queue = self._sync_queue(dispatch)
        inv_id = self.submit(*args, _dispatch=dispatch, **kwargs)
        return (iterate_owned if self.kind.endswith("generator") else wait_owned)(queue, inv_id)

    def submit(
        self,
        *args: Any,
        _dispatch: Plane | None = None,
        _key: str | None = None,
        _priority: float | None = None,
        _retries: int | None = None,
        _timeout_s: float | None = None,
        _deadline: Deadline | None = None,
        _delay_s: float | None = None,
        _backoff: Backoff | float | None = None,
        **kwargs: Any,
    ) -> str:
        """Store an invocation durably and give its id, at once.

        ``_dispatch``: another plane than the queue's. ``_key``: a key by which a second submit gives the
        first one's id. ``_priority``: the higher the sooner (0.0). ``_retries``: attempts after the first.
        ``_timeout_s``: seconds that one attempt may run. ``_deadline``: when it must not start any more, as
        Unix seconds, a datetime with a zone, or a timedelta from now. ``_delay_s``: seconds to wait before
        it may start. ``_backoff``: pause before attempts, a ``Backoff`` or its base in seconds.
        """
        options = run_options(_key, _priority, _retries, _timeout_s, _deadline, _delay_s, _backoff)
        return self._sync_queue(_dispatch).submit_call(self, args, kwargs, options.over(self.base_config()))

    def map(
        self,
        iterable: Iterable[Any],
        *,
        chunk: int = 500,
        progress: bool = True,
        on_error: Literal["raise", "return"] = "raise",
        timeout: float | None = None,
        ahead: int | None = None,
        _dispatch: Plane | None = None,
    ) -> Iterator[Any]:
        """Call it with each item as its only argument, on the queue's workers; yield the results in order.

        Items are submitted ``chunk`` at a time, and at most ``ahead`` (8 chunks) beyond the result that is
        yielded next, so the iterable may be endless; it is read in between, so it must not itself wait for
        results. ``progress`` draws a bar when stderr is a terminal.
        ``on_error="return"`` yields the error in the place of a failed item's result; ``"raise"`` raises it
        there. ``timeout``: most seconds to wait for the next result. Closing the iterator, an error, or
        Ctrl-C cancels what has not ended.
        """
        from dreamlake.lakeshore.function.mapping import MapPlan, run_map  # noqa: PLC0415

        plan = MapPlan(chunk=chunk, progress=progress, on_error=on_error, timeout=timeout, ahead=ahead)
        return run_map(self, self._sync_queue(_dispatch), iterable, plan)

    def base_config(self) -> RunConfig:
        """Give the configuration of a submit that says nothing else."""
        return self.options.over(self.config)

    def _sync_queue(self, dispatch: Plane | None) -> SyncQueue:
        from dreamlake.lakeshore.queue.synchronous import SyncQueue  # noqa: PLC0415

        bound = self._bound_queue()
        if isinstance(bound, SyncQueue) and dispatch is None:
            return bound
        if isinstance(bound, str):
            return SyncQueue(bound, dispatch=dispatch)
        return SyncQueue(bound.name, dispatch=bound.dispatch if dispatch is None else dispatch)

    def _bound_queue(self) -> str | BaseQueue:
        if self.queue is None:
            raise ConfigError(
                f"{body_name(self.fn)} has no queue: decorate it with @udf(queue=...), "
                f"or submit it to one: SyncQueue(...).submit({self.name}, ...)"
            )
        return self.queue

    async def _await_remote(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from dreamlake.lakeshore.queue.asynchronous import Queue  # noqa: PLC0415

        return await Queue.like(self._sync_queue(None)).call(self, *args, **kwargs)

    async def _iterate_remote(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncIterator[Any]:
        from dreamlake.lakeshore.queue.asynchronous import Queue  # noqa: PLC0415

        values = Queue.like(self._sync_queue(None)).call_stream(self, *args, **kwargs)
        try:
            async for value in values:
                yield value
        finally:
            await values.aclose()


@overload
def udf(fn: Callable[P, R], /) -> UDF[P, R]: ...
@overload
def udf(
    fn: Callable[P, R],
    *,
    queue: str | BaseQueue | None = ...,
    transport: Transport = ...,
    config: RunConfig | None = ...,
    retries: int | None = ...,
    timeout_s: float | None = ...,
    deadline: Deadline | None = ...,
    backoff: Backoff | float | None = ...,
    priority: float | None = ...,
) -> UDF[P, R]: ...
@overload
def udf(
    fn: None = None,
    *,
    queue: str | BaseQueue | None = ...,
    transport: Transport = ...,
    config: RunConfig | None = ...,
    retries: int | None = ...,
    timeout_s: float | None = ...,
    deadline: Deadline | None = ...,
    backoff: Backoff | float | None = ...,
    priority: float | None = ...,
) -> Callable[[Callable[P, R]], UDF[P, R]]: ...
def udf(
    fn: Callable[P, R] | None = None,
    *,
    queue: str | BaseQueue | None = None,
    transport: Transport = "auto",
    config: RunConfig | None = None,
    retries: int | None = None,
    timeout_s: float | None = None,
    deadline: Deadline | None = None,
    backoff: Backoff | float | None = None,
    priority: float | None = None,
) -> UDF[P, R] | Callable[[Callable[P, R]], UDF[P, R]]:
    """Make a function one that can run on workers; as ``@udf`` or ``@udf(queue="gpu", ...)``.

    ``queue``: a queue's name, or a ``SyncQueue`` or ``Queue`` with its plane. ``transport``: how the function travels:
    ``ref`` by module and name, ``pickle`` by value, ``auto`` by value only where it cannot be imported.
    ``config``, and over it ``retries``, ``timeout_s``, ``deadline``, ``backoff`` and ``priority``: what
    holds for a submit that does not say otherwise (see ``UDF.submit``; a timedelta as ``deadline`` counts
    from each submit).

    Bodies may be sync, async, generators or async generators.
    """
    options = run_options(None, priority, retries, timeout_s, deadline, None, backoff)

    def decorate(function: Callable[P, R]) -> UDF[P, R]:
        return UDF(function, queue=queue, transport=transport, config=config, options=options)

    return decorate if fn is None else decorate(fn)


def _rebuild(
    fn: Callable[..., Any], queue: str | None, transport: Transport, config: RunConfig, options: RunOptions
) -> UDF[..., Any]:
    return UDF(fn, queue=queue, transport=transport, config=config, options=options)


def _check_function(fn: object) -> None:
    if isinstance(fn, staticmethod | classmethod):
        kind = type(fn).__name__
        raise TypeError(f"@udf stands above @{kind}: put @{kind} above @udf")
    if isinstance(fn, UDF):
        raise TypeError(f"{fn!r} is a udf already: decorate the function once")
    if not callable(fn):
        raise TypeError(f"@udf decorates a function, not {fn!r}: give the queue by name, @udf(queue=...)")


def _queue_name(queue: str | BaseQueue) -> str:
    return queue if isinstance(queue, str) else queue.name


def _find(module: str | None, qualname: str) -> object:
    found: object = sys.modules.get(module or "")
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _by_value_modules() -> set[str]:
    cloudpickle = sys.modules.get("cloudpickle")
    return set() if cloudpickle is None else cloudpickle.list_registry_pickle_by_value()


def _loop_runs() -> bool:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
