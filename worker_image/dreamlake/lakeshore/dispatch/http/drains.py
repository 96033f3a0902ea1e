"""Which workers of this process the control plane told to drain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class DrainOrders:
    """Orders as they come with the answers to a worker's requests; for any number of threads."""

    def __init__(self) -> None:
        self._ordered: set[str] = set()

    def __contains__(self, worker_id: str) -> bool:
        return worker_id in self._ordered

    def note(self, worker_id: str, answer: Mapping[str, Any]) -> None:
        """Take in an answer: of a heartbeat or a renewal (``drain``), or of a poll (a command to hibernate)."""
        if answer.get("drain") or any(
            command["kind"] == "hibernate" for command in answer.get("commands") or ()
        ):
            self._ordered.add(worker_id)

    def forget(self, worker_id: str) -> None:
        """Forget a worker that has ended."""
        self._ordered.discard(worker_id)
