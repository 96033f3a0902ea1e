"""What the elasticity controller decided, and why."""

from __future__ import annotations

from collections.abc import Mapping

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.elasticity_events import ElasticityEventRows

KINDS = ("scale_up", "scale_down", "tick_noop")


class ElasticityEvents:
    """A log of decisions for each queue; it goes with the queue's retention."""

    def __init__(self, *, rows: ElasticityEventRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    async def add(
        self,
        namespace: str,
        queue: str,
        *,
        kind: str,
        reason: str,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None:
        """Write a decision down, with what the controller saw before and after. Raises ``BadRequest``."""
        if kind not in KINDS:
            raise BadRequest(f"elasticity event kind {kind!r}: use one of {', '.join(KINDS)}")
        await self._rows.add(
            {
                "namespaceId": namespace,
                "queue": queue,
                "kind": kind,  # type: ignore[typeddict-item]  # it was checked
                "reason": reason,
                "before": dict(before),
                "after": dict(after),
                "at": self._clock.steady(),
            }
        )

    async def list(
        self, namespace: str, queue: str, *, limit: int = 50, verbose: bool = False
    ) -> list[dict[str, object]]:
        """List decisions, the newest first; those that changed nothing only when ``verbose``."""
        key = QueueKey(namespace, queue)
        found = await self._rows.newest(key, limit, without=None if verbose else "tick_noop")
        shown = ("kind", "reason", "before", "after", "at")
        return [{name: event[name] for name in shown} for event in found]  # type: ignore[literal-required]
