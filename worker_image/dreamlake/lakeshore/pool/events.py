"""The elasticity events of a pool: what was decided, and why, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lakeshore_elasticity import Decision, Signals

_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class ElasticityEvent:
    """One decision. ``at``: seconds on the plane's clock; ``before`` and ``after``: signals by name."""

    queue: str
    kind: str
    reason: str
    at: float
    before: dict[str, Any]
    after: dict[str, Any]


class EventFilter:
    """Lets through the decisions that change something, and those whose reason has become another one.

    A reason that differs in its numbers alone is the same reason.
    """

    def __init__(self) -> None:
        self._last = ""

    def event(self, queue: str, signals: Signals, decision: Decision) -> ElasticityEvent | None:
        """Give the event of a decision, or None when there is nothing to tell."""
        reason = _NUMBER.sub("#", decision.reason)
        if decision.kind == "tick_noop" and reason == self._last:
            return None
        self._last = reason
        before = {"queued": signals.queued, "leased": signals.leased, "workers": len(signals.workers)}
        after = {
            "desired": decision.desired,
            "started": decision.start,
            "cancelled": list(decision.cancel),
            "drained": list(decision.victims),
            "unmet": decision.unmet,
        }
        return ElasticityEvent(queue, decision.kind, decision.reason, signals.as_of, before, after)
