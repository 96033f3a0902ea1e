"""``SyncQueue``: the blocking face of a queue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import RunConfig, Submission
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.function.enveloping import CallTemplate, envelope_of, own_config
from dreamlake.lakeshore.function.fitting import check_fit
from dreamlake.lakeshore.function.run_options import Deadline, RunOptions, run_options
from dreamlake.lakeshore.function.thunk import Thunk
from dreamlake.lakeshore.invocation_id import new_id
from dreamlake.lakeshore.queue.base import check_on_error, check_timeout
from dreamlake.lakeshore.queue.consuming import Consumer
from dreamlake.lakeshore.queue.frames import decode_stream
from dreamlake.lakeshore.queue.job import pack_payload
from dreamlake.lakeshore.queue.outcomes import value_of
from dreamlake.lakeshore.queue.waiting import wait_owned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dreamlake.lakeshore.dispatch.plane import Backoff
    from dreamlake.lakeshore.queue.topic import Topic

_SLICE_S = 5.0


def payload_submission(value: object, options: RunOptions | None) -> Submission:
    """Make the submission of a payload."""
    return Submission(new_id(), pack_payload(value), (options or run_options()).over(RunConfig()))


class SyncQueue(Consumer):
    """A queue: ``SyncQueue(name, *, dispatch=None, kind="fifo", temperature=1.0)``.

    ``dispatch``: the plane; without one the process's default (``LAKESHORE_URL``, else the SQLite file under
    ``LAKESHORE_HOME``). ``kind``: the order in which this object claims: ``fifo`` (by priority, oldest
    first), ``filo`` (newest first), ``boltzmann`` (drawn by priority at ``temperature``).

    Two sorts of jobs can be in it. *Function calls* (``submit``) are run by workers. *Payloads* (``post``)
    are plain values, which a consumer takes by ``claim`` or ``working``; a worker that meets one fails it.
    """

    def submit(
        self,
        fn: Callable[..., Any],
        *args: Any,
        _key: str | None = None,
        _priority: float | None = None,
        _retries: int | None = None,
        _timeout_s: float | None = None,
        _deadline: Deadline | None = None,
        _delay_s: float | None = None,
        _backoff: Backoff | float | None = None,
        **kwargs: Any,
    ) -> str:
        """Submit a call of a function, udf or thunk, and give its id. Options as for ``UDF.submit``."""
        options = run_options(_key, _priority, _retries, _timeout_s, _deadline, _delay_s, _backoff)
        return self.submit_call(fn, args, kwargs, options.over(own_config(fn)))

    def submit_call(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], config: RunConfig
    ) -> str:
        """Submit a call with arguments and configuration as values."""
        made = self.submission(fn, args, kwargs, config)
        return self.dispatch.submit_many(self.name, [made])[0]

    def submission(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], config: RunConfig
    ) -> Submission:
        """Make the submission of a call."""
        if isinstance(fn, Thunk):
            if args or kwargs:
                raise TypeError(f"{fn!r} has its arguments already: submit it without any")
            args, kwargs = fn.args, fn.kwargs
        else:
            check_fit(fn, args, kwargs)
        inv_id = new_id()
        envelope = envelope_of(fn, args, kwargs, inv_id=inv_id, key=config.key, plane=self.dispatch)
        return Submission(inv_id, envelope.to_bytes(), config, envelope.parent)

    def submit_many(
        self, fn: Callable[..., Any], items: Iterable[Any], *, options: RunOptions | None = None
    ) -> list[str]:
        """Submit one call per item, the item being its only argument; all are stored or none. Ids in order."""
        return self.dispatch.submit_many(self.name, self.submissions(fn, items, options))

    def submissions(
        self, fn: Callable[..., Any], items: Iterable[Any], options: RunOptions | None
    ) -> list[Submission]:
        """Make the submissions of one call per item."""
        config = (options or run_options()).over(own_config(fn))
        if config.key is not None:
            raise ConfigError("submit_many takes no key: one key is for one invocation")
        check_fit(fn, (None,), {})
        return CallTemplate(fn, self.dispatch).submissions(items, config)

    def post(self, value: object, *, options: RunOptions | None = None) -> str:
        """Put a payload in the queue for a consumer to ``claim``, and give its id.

        ``value`` is anything the wire takes. ``result(id)`` waits for what the consumer acks it with.
        """
        return self.dispatch.submit_many(self.name, [payload_submission(value, options)])[0]

    def result(self, inv_id: str, timeout: float = 30.0) -> Any:
        """Wait up to ``timeout`` seconds for the result; from any process that has the id.

        Raises ``TimeoutError`` (naming the state it is still in), ``InvocationFailedError``,
        ``InvocationCancelledError``, and ``DispatchError`` for an unknown id.
        """
        check_timeout(timeout, limited=True)
        data = self.dispatch.result(inv_id, timeout=timeout)
        return wire.unpack(data) if data else None  # acked without a result, by hand

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Submit a call and wait for its result; an interrupted wait cancels it. Options as for ``submit``."""
        return wait_owned(self, self.submit(fn, *args, **kwargs))

    def results(
        self,
        ids: Iterable[str],
        timeout: float | None = None,
        *,
        on_error: Literal["raise", "return"] = "raise",
    ) -> Iterator[tuple[str, Any]]:
        """Yield ``(id, result)`` as invocations end, each id once.

        ``timeout``: seconds for all of them, None for no limit; ``TimeoutError`` says how many are missing.
        ``on_error="return"`` gives the error in the place of a result.
        """
        check_on_error(on_error)
        check_timeout(timeout)
        waiting = set(ids)
        return self._results(waiting, timeout, on_error)

    def _results(self, waiting: set[str], timeout: float | None, on_error: str) -> Iterator[tuple[str, Any]]:
        ends = None if timeout is None else time.monotonic() + timeout
        completions = self.dispatch.completions()
        try:
            completions.add(waiting)
            while waiting:
                left = _SLICE_S if ends is None else ends - time.monotonic()
                outcomes = completions.wait(max(0.0, min(left, _SLICE_S)))
                if not outcomes and left <= 0:
                    raise TimeoutError(
                        f"{len(waiting)} invocations have not ended after {timeout} s, {min(waiting)} among "
                        "them: ask again with a longer timeout, or see `lakeshore jobs list`"
                    )
                for outcome in outcomes:
                    waiting.discard(outcome.id)
                    yield outcome.id, value_of(outcome, on_error)
        finally:
            completions.close()

    def stream(self, inv_id: str, since: int = -1, *, timeout: float = 30.0) -> Iterator[Any]:
        """Yield what a generator body yields, as it comes; from any process that has the id.

        Raises ``InvocationFailedError`` where the body raised, and ``TimeoutError`` when nothing new comes
        for ``timeout`` seconds. An invocation of another kind yields nothing.
        """
        return (value for _seq, value in self.stream_frames(inv_id, since, timeout=timeout))

    def stream_frames(
        self, inv_id: str, since: int = -1, *, timeout: float = 30.0
    ) -> Iterator[tuple[int, Any]]:
        """Like ``stream``, yielding ``(seq, value)``: pass the last ``seq`` as ``since`` to go on after a break."""
        check_timeout(timeout, limited=True)
        plane = self.dispatch
        return decode_stream(plane, inv_id, plane.journal_read(inv_id, since=since, timeout=timeout))

    def cancel(self, inv_id: str) -> bool:
        """End an invocation as cancelled; False when it has ended already or is unknown."""
        return self.dispatch.cancel(inv_id)

    def count(self, state: str = "queued") -> int:
        """Count the queue's invocations in one state."""
        return self.dispatch.count(self.name, state)

    def topic(self, name: str) -> Topic:
        """Give a topic of this queue, on its plane."""
        from dreamlake.lakeshore.queue.topic import Topic  # noqa: PLC0415

        return Topic(name, dispatch=self.dispatch, queue=self.name)
