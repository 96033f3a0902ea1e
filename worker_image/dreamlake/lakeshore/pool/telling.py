"""Decisions of a pool, written down where its queue lives."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dreamlake.lakeshore.errors import ConfigError, DispatchError, RefusedError
from dreamlake.lakeshore.pool.events import ElasticityEvent

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.administration import Administration

log = logging.getLogger("lakeshore.pool")

_NOOP_EVERY_S = 60.0
"""Seconds between two decisions of a queue that change nothing, as far as they are written down."""
_KEPT = 200
_AGAIN_S = 5.0


class DecisionLog:
    """Writes decisions to the control plane; they wait here while it is away, the latest of them.

    A pool goes on without: a token that may not write them is told of once.
    """

    def __init__(self, rest: Administration) -> None:
        self._rest = rest
        self._waiting: deque[ElasticityEvent] = deque(maxlen=_KEPT)
        self._last_noop: dict[str, float] = {}
        self._not_before = 0.0
        self._trouble = ""

    def write(self, events: Iterable[ElasticityEvent]) -> None:
        """Write these after those that wait; what cannot be written now waits for the next call."""
        self._waiting.extend(event for event in events if not self._is_one_noop_more(event))
        if time.monotonic() < self._not_before:
            return
        try:
            while self._waiting:
                self._write(self._waiting[0])
                self._waiting.popleft()
        except DispatchError as exc:
            self._not_before = time.monotonic() + _AGAIN_S
            if str(exc) != self._trouble:
                log.warning("decisions are not written down for now: %s", exc)
            self._trouble = str(exc)
            return
        self._trouble = ""

    def close(self) -> None:
        """Write what waits, if it can be done now, and close the connections."""
        self._not_before = 0.0
        try:
            self.write(())
        finally:
            self._rest.close()

    def _write(self, event: ElasticityEvent) -> None:
        try:
            self._rest.add_elasticity_event(
                event.queue, event.kind, event.reason, before=event.before, after=event.after
            )
        except (RefusedError, ConfigError) as exc:  # it would be refused again
            log.warning("a decision is not written down: %s", exc)

    def _is_one_noop_more(self, event: ElasticityEvent) -> bool:
        if event.kind != "tick_noop":
            return False
        last = self._last_noop.get(event.queue)
        if last is not None and event.at - last < _NOOP_EVERY_S:
            return True
        self._last_noop[event.queue] = event.at
        return False
