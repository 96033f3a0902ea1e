"""What the asyncio face of a queue needs of a plane: the verbs that wait, as coroutines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Protocol, runtime_checkable

from dreamlake.lakeshore.dispatch.plane import Claimed, Outcome, Submission
from dreamlake.lakeshore.errors import ErrorInfo


class AsyncPlane(Protocol):
    """A plane for the event loop that runs. The verbs promise and raise what those of ``Plane`` do."""

    async def submit_many(self, queue: str, items: Sequence[Submission]) -> list[str]:
        """Store invocations; their ids."""

    async def cancel_many(self, ids: Iterable[str]) -> set[str]:
        """End many as ``cancelled``; the ids of those that this call ended."""

    async def get(self, inv_id: str) -> dict[str, object] | None:
        """Give the row, or None."""

    async def outcome(self, inv_id: str) -> Outcome:
        """Wait until it has ended, however long. Raises ``DispatchError`` for an unknown id."""

    def journal_read(
        self, inv_id: str, *, since: int, timeout: float
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield ``(seq, frame)`` after ``since``. Raises ``TimeoutError`` when nothing new comes for ``timeout`` s."""

    async def claim(
        self, queue: str, worker_id: str, *, kind: str, temperature: float, lease_s: float, wait_s: float
    ) -> Claimed | None:
        """Lease the next invocation, waiting up to ``wait_s`` seconds for one; cancelled, it holds none."""

    async def renew(self, ids: Iterable[str], worker_id: str, *, lease_s: float) -> set[str]:
        """Extend leases; the ids that are no longer held."""

    async def ack(self, inv_id: str, worker_id: str, *, result: bytes, attempt: int) -> None:
        """End a running attempt as succeeded."""

    async def nack(
        self,
        inv_id: str,
        worker_id: str,
        *,
        error: ErrorInfo | str,
        retry: bool,
        attempt: int,
        delay_s: float,
    ) -> None:
        """Report a failed attempt."""

    async def count(self, queue: str, state: str) -> int:
        """Count the rows of a queue in one state."""


@runtime_checkable
class OffersAsync(Protocol):
    """A plane that serves event loops without threads."""

    def asynchronous(self) -> AsyncPlane:
        """Give its face for the event loop that runs."""
