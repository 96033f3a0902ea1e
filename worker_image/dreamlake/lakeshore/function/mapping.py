"""``UDF.map``: results in order, while the calls behind them are fed to the queue a bounded way ahead."""

from __future__ import annotations

import operator
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.function.enveloping import CallTemplate
from dreamlake.lakeshore.function.fitting import check_fit
from dreamlake.lakeshore.queue.base import check_on_error, check_timeout
from dreamlake.lakeshore.queue.outcomes import value_of
from dreamlake.lakeshore.queue.waiting import warn_if_unattended

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dreamlake.lakeshore.dispatch.plane import Completions, Outcome, RunConfig
    from dreamlake.lakeshore.function.progress import Progress
    from dreamlake.lakeshore.function.udf import UDF
    from dreamlake.lakeshore.queue.synchronous import SyncQueue

_CHUNKS_AHEAD = 8
_FILL_S = 0.02
"""Seconds after which a chunk that a slow iterable fills is submitted as it is."""
_SLICE_S = 1.0
_WARN_EVERY_S = 30.0


@dataclass(frozen=True, slots=True)
class MapPlan:
    """The options of one ``map``."""

    chunk: int = 500
    progress: bool = True
    on_error: str = "raise"
    timeout: float | None = None
    ahead: int | None = None

    def __post_init__(self) -> None:
        """Raise ``ConfigError`` for what cannot work."""
        for name, value in (("chunk", self.chunk), ("ahead", self.ahead)):
            if value is not None and not (isinstance(value, int) and value >= 1):
                raise ConfigError(f"{name} {value!r}: use a whole number of items, 1 or more")
        check_on_error(self.on_error)
        check_timeout(self.timeout)

    @property
    def window(self) -> int:
        """Items that may have been submitted and not been yielded."""
        return self.chunk * _CHUNKS_AHEAD if self.ahead is None else self.ahead


def run_map(udf: UDF[..., Any], queue: SyncQueue, iterable: Iterable[Any], plan: MapPlan) -> Iterator[Any]:
    """Check what can be checked and give the iterator; nothing is submitted before its first ``next``."""
    if udf.kind.endswith("generator"):
        raise ConfigError(
            f"{udf.name} is a generator, whose values are a stream: map collects results, so return a list, "
            "or submit the items and iterate SyncQueue.stream(id)"
        )
    config = udf.base_config()
    if config.key is not None:
        raise ConfigError("map takes no key: one key is for one invocation")
    check_fit(udf, (None,), {})
    items = iter(iterable)
    total = operator.length_hint(iterable, -1)
    return _iterate(_Mapping(udf, queue, items, plan, config), None if total < 0 else total)


def _iterate(mapping: _Mapping, total: int | None) -> Iterator[Any]:
    progress = mapping.open(total)
    try:
        while mapping.feed():
            for outcome in mapping.ready():
                yield value_of(outcome, mapping.plan.on_error)
            progress.show(mapping.ended)
    finally:
        mapping.close()
        progress.close()


class _Mapping:
    """The moving window of one map: what was submitted, what has ended, what comes next."""

    def __init__(
        self, udf: UDF[..., Any], queue: SyncQueue, items: Iterator[Any], plan: MapPlan, config: RunConfig
    ) -> None:
        self.plan = plan
        self.ended = 0
        self._template = CallTemplate(udf, queue.dispatch)
        self._queue = queue
        self._plane = queue.dispatch
        self._items = items
        self._config = config
        self._exhausted = False
        self._waiting: dict[str, None] = {}  # submitted and not yielded, in order
        self._done: dict[str, Outcome] = {}
        self._completions: Completions | None = None

    def open(self, total: int | None) -> Progress:
        from dreamlake.lakeshore.function.progress import progress_of  # noqa: PLC0415

        self._completions = self._plane.completions()
        return progress_of(sys.stderr, self._template.name, total, wanted=self.plan.progress)

    def feed(self) -> bool:
        """Submit the next chunk if the window has room for it; False when all is submitted and yielded."""
        room = self.plan.window - len(self._waiting)
        if not self._exhausted and (room >= self.plan.chunk or not self._waiting or room >= self.plan.window):
            chunk = self._take(min(room, self.plan.chunk))
            if chunk:
                ids = self._plane.submit_many(
                    self._queue.name, self._template.submissions(chunk, self._config)
                )
                self._waiting.update(dict.fromkeys(ids))
                self._stream.add(ids)
        return bool(self._waiting) or not self._exhausted

    def _take(self, most: int) -> list[Any]:
        chunk: list[Any] = []
        ends = time.monotonic() + _FILL_S
        for item in self._items:
            chunk.append(item)
            if len(chunk) >= most or time.monotonic() > ends:
                return chunk
        self._exhausted = True
        return chunk

    def ready(self) -> Iterator[Outcome]:
        """Give the outcomes that are next in order; waits for one where the window is full."""
        self._collect(block=not self._can_feed())
        while self._waiting:
            inv_id = next(iter(self._waiting))
            outcome = self._done.pop(inv_id, None)
            if outcome is None:
                return
            del self._waiting[inv_id]
            yield outcome

    def _can_feed(self) -> bool:
        return not self._exhausted and self.plan.window - len(self._waiting) >= self.plan.chunk

    def _collect(self, *, block: bool) -> None:
        """Take in what has ended; with ``block`` until the next one in order has."""
        started = warned = time.monotonic()
        while self._waiting:
            head = next(iter(self._waiting))
            wait = block and head not in self._done
            for outcome in self._stream.wait(self._slice(started, head) if wait else 0.0):
                self._done[outcome.id] = outcome
                self.ended += 1
            if not wait or head in self._done:
                return
            if time.monotonic() - warned > _WARN_EVERY_S:
                warned = time.monotonic()
                warn_if_unattended(self._plane, self._queue.name, head)

    def _slice(self, started: float, head: str) -> float:
        if self.plan.timeout is None:
            return _SLICE_S
        left = started + self.plan.timeout - time.monotonic()
        if left <= 0:
            state = (self._plane.get(head) or {"state": "unknown"})["state"]
            raise TimeoutError(
                f"map waited {self.plan.timeout} s for invocation {head}, still {state!r}: start more workers "
                f"(lakeshore worker start --queue {self._queue.name}) or give a longer timeout"
            )
        return min(_SLICE_S, left)

    @property
    def _stream(self) -> Completions:
        if self._completions is None:
            raise RuntimeError("map was closed")
        return self._completions

    def close(self) -> None:
        """Cancel what has not ended."""
        if self._completions is not None:
            self._completions.close()
        left = [inv_id for inv_id in self._waiting if inv_id not in self._done]
        self._waiting.clear()
        if left:
            self._plane.cancel_many(left)
