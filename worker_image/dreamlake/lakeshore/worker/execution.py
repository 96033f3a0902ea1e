"""Run one claimed invocation: envelope in, reports out. Where it runs and who asked is not known here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from dreamlake.lakeshore import lifecycle, wire
from dreamlake.lakeshore.attempt.failure import error_info
from dreamlake.lakeshore.attempt.retrying import may_retry, pause_s
from dreamlake.lakeshore.context.run_context import RunContext
from dreamlake.lakeshore.context.storage import LocalStorage
from dreamlake.lakeshore.dispatch.plane import Claimed, Finished, Frame
from dreamlake.lakeshore.errors import FencedError, WireError
from dreamlake.lakeshore.function.body import Holder, run_invocation
from dreamlake.lakeshore.function.kinds import body_kind
from dreamlake.lakeshore.home import home
from dreamlake.lakeshore.transport import resolve
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, Report

MOST_BYTES = 256 << 20
"""Bytes of one result or one yielded value: SQLite takes up to 1 GB, and each is in memory several times."""
_STREAMS = frozenset({"generator", "async_generator"})
_MOST_REMEMBERED = 1024


def _no_limit(_limit_s: float | None) -> AbstractContextManager[None]:
    return nullcontext()


class Executor:
    """Runs bodies one after another and tells ``report`` (a report and its size in bytes) what comes of them."""

    def __init__(
        self,
        *,
        root: Path,
        allow_pickled: bool,
        runtime_policy: str,
        retries: int,
        report: Callable[[Report, int], None],
        registry: Mapping[str, Callable[..., Any]] | None = None,
        interruptible: bool = False,
        collect_stream: bool = False,
        limit: Callable[[float | None], AbstractContextManager[None]] = _no_limit,
    ) -> None:
        """``interruptible``: let Ctrl-C through. ``collect_stream``: a stream's result is the list of its values.

        ``limit``: enforces ``timeout_s`` around a body; slots with processes of their own have no need of it.
        ``report`` may raise ``FencedError`` for a frame: then the body is closed, and the end is reported as lost.
        """
        self.report = report
        self.current: tuple[str, int] | None = None
        self.flush_output: Callable[[], None] = _nothing
        self._root = root
        self._home = home()
        self._storage = LocalStorage(root)
        self._allow_pickled = allow_pickled
        self._runtime_policy = runtime_policy
        self._retries = retries
        self._registry = dict(registry or {})
        self._interruptible = interruptible
        self._collect_stream = collect_stream
        self._limit = limit
        self._streams: dict[int, tuple[Callable[..., Any], bool]] = {}

    def set_up(self) -> None:
        """Run the setup hooks that are registered so far. Raises ``WorkerError`` naming the one that failed."""
        lifecycle.run_setup_hooks(self._home)
        lifecycle.set_phase("ready")

    def tear_down(self) -> None:
        """Run the shutdown hooks."""
        lifecycle.set_phase("draining")
        lifecycle.run_shutdown_hooks()

    def execute(self, job: Claimed) -> None:
        """Run one invocation. Nothing but an interrupt of the worker itself is raised."""
        began = time.perf_counter()
        self.current = (job.id, job.attempt)
        stream = _Stream(job.id, self.report, collect=self._collect_stream)
        try:
            with self._limit(job.timeout_s):
                finished = self._run(job, stream)
        except FencedError as exc:
            finished = Finished(job.id, job.attempt, error=error_info(exc))
        except BaseException as exc:
            if self._interruptible and isinstance(exc, KeyboardInterrupt):
                raise
            finished = self._failed(job, exc, stream)
        finally:
            self.flush_output()
            self.current = None
        size = len(finished.result) if finished.result else 0
        self.report(DoneReport(finished, time.perf_counter() - began), size)

    def _run(self, job: Claimed, stream: _Stream) -> Finished:
        envelope = wire.Envelope.from_bytes(job.envelope)
        fn = resolve(
            envelope.fn,
            registry=self._registry,
            allow_pickled=self._allow_pickled,
            runtime_policy=self._runtime_policy,
        )
        lifecycle.run_setup_hooks(self._home)
        context = RunContext(
            root=self._root,
            prefix=envelope.prefix,
            invocation_id=job.id,
            attempt=job.attempt,
            storage=self._storage,
        )
        args, kwargs = envelope.arguments()
        value = run_invocation(fn, args, kwargs, context=context, emit=stream.emit)
        if self._is_stream(fn):
            stream.end()
            if self._collect_stream:
                value = stream.values
        return Finished(job.id, job.attempt, _of_bearable_size(wire.pack(value), "its result"))

    def _failed(self, job: Claimed, exc: BaseException, stream: _Stream) -> Finished:
        retry = may_retry(exc, job, self._retries)
        error = error_info(exc)
        if not retry:
            stream.fail(error.to_dict())
        pause = pause_s(job.backoff, job.attempt) if retry else 0.0
        return Finished(job.id, job.attempt, error=error, retry=retry, delay_s=pause)

    def _is_stream(self, fn: Callable[..., Any]) -> bool:
        # By identity: a callable instance need not be hashable. The function is kept, so its id stays its own.
        known = self._streams.get(id(fn))
        if known is None:
            if len(self._streams) >= _MOST_REMEMBERED:
                self._streams.clear()
            known = (fn, body_kind(fn.fn if isinstance(fn, Holder) else fn) in _STREAMS)
            self._streams[id(fn)] = known
        return known[1]


class _Stream:
    """The frames of one attempt, numbered from 0.

    An attempt that is repeated sends the same numbers again; the journal keeps the first of each, so a
    reader sees every position once.
    """

    def __init__(self, inv_id: str, report: Callable[[Report, int], None], *, collect: bool) -> None:
        self.values: list[Any] = []
        self._id = inv_id
        self._report = report
        self._collect = collect
        self._seq = 0

    def emit(self, value: Any) -> None:
        if self._collect:
            self.values.append(value)
        else:
            self._append(wire.FrameKind.VALUE, value)

    def end(self) -> None:
        self._append(wire.FrameKind.END, None, final=True)

    def fail(self, error: dict[str, str]) -> None:
        self._append(wire.FrameKind.ERROR, error, final=True)

    def _append(self, kind: wire.FrameKind, body: Any, *, final: bool = False) -> None:
        data = _of_bearable_size(wire.WireFrame(kind, self._seq, body).encode(), "a value that it yielded")
        self._report(FrameReport(self._id, Frame(self._seq, data, final)), len(data))
        self._seq += 1


def _of_bearable_size(data: bytes, what: str) -> bytes:
    if len(data) > MOST_BYTES:
        raise WireError(
            f"{what} takes {len(data) >> 20} MiB, and {MOST_BYTES >> 20} MiB may pass through a plane: "
            "write it to a file with run.write and return its key"
        )
    return data


def _nothing() -> None:
    """Stand for flushing where output is not captured."""
