"""A plane whose verbs block, for an event loop: verbs run in asyncio's threads, waiting takes none."""

from __future__ import annotations

import asyncio
import time
from itertools import islice
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch.async_plane import AsyncPlane, OffersAsync
from dreamlake.lakeshore.dispatch.verdicts import journal_quiet
from dreamlake.lakeshore.queue.watching import Wakeups, watcher_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from dreamlake.lakeshore.dispatch.plane import Claimed, Outcome, Plane, Submission
    from dreamlake.lakeshore.errors import ErrorInfo

_LONGEST_WAIT_S = 5.0
_BATCH = 256


def async_plane_of(plane: Plane) -> AsyncPlane:
    """Give a plane's own face for the running event loop, or one made of threads."""
    return plane.asynchronous() if isinstance(plane, OffersAsync) else ThreadedPlane(plane)


class ThreadedPlane:
    """See ``AsyncPlane``."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    async def submit_many(self, queue: str, items: Sequence[Submission]) -> list[str]:
        """Store invocations; their ids."""
        return await asyncio.to_thread(self._plane.submit_many, queue, items)

    async def cancel_many(self, ids: Iterable[str]) -> set[str]:
        """End many as ``cancelled``; the ids of those that this call ended."""
        return await asyncio.to_thread(self._plane.cancel_many, ids)

    async def get(self, inv_id: str) -> dict[str, object] | None:
        """Give the row, or None."""
        return await asyncio.to_thread(self._plane.get, inv_id)

    async def outcome(self, inv_id: str) -> Outcome:
        """Wait until it has ended. Raises ``DispatchError`` for an unknown id."""
        # In one step: a watcher that nobody waits on ends at the loop's next turn.
        return await watcher_of(self._plane).outcome(inv_id)

    async def journal_read(
        self,
        inv_id: str,
        *,
        since: int,
        timeout: float,  # noqa: ASYNC109
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield ``(seq, frame)`` after ``since``, gapless and in order, until final or a terminal state."""
        wakeups = Wakeups(self._plane.listen(f"journal:{inv_id}"))
        try:
            quiet_since = time.monotonic()
            while True:
                entries, complete = await asyncio.to_thread(self._read, inv_id, since)
                for entry in entries:
                    since = entry[0]
                    yield entry
                if complete:
                    return
                if entries:
                    quiet_since = time.monotonic()
                elif time.monotonic() - quiet_since >= timeout:
                    raise journal_quiet(inv_id, since, timeout)
                else:
                    await wakeups.wait(min(timeout, _LONGEST_WAIT_S))
        finally:
            wakeups.close()

    def _read(self, inv_id: str, since: int) -> tuple[list[tuple[int, bytes]], bool]:
        """Read what is there; whether nothing can follow it."""
        entries: list[tuple[int, bytes]] = []
        reader = self._plane.journal_read(inv_id, since=since, timeout=0)
        try:
            for entry in islice(reader, _BATCH):
                entries.append(entry)  # noqa: PERF402
        except TimeoutError:
            return entries, False
        return entries, len(entries) < _BATCH

    async def claim(
        self, queue: str, worker_id: str, *, kind: str, temperature: float, lease_s: float, wait_s: float
    ) -> Claimed | None:
        """Lease the next invocation, waiting up to ``wait_s`` seconds for one."""

        def claim_now() -> Claimed | None:
            return self._plane.claim(queue, worker_id, kind=kind, temperature=temperature, lease_s=lease_s)

        ends = time.monotonic() + wait_s
        wakeups = Wakeups(self._plane.listen(f"work:{queue}"))
        try:
            while True:
                claimed = await asyncio.to_thread(claim_now)
                left = ends - time.monotonic()
                if claimed is not None or left <= 0:
                    return claimed
                due = await asyncio.to_thread(self._plane.next_due, queue)
                await wakeups.wait(max(0.001, min(left, _LONGEST_WAIT_S if due is None else due)))
        finally:
            wakeups.close()

    async def renew(self, ids: Iterable[str], worker_id: str, *, lease_s: float) -> set[str]:
        """Extend leases; the ids that are no longer held."""
        return await asyncio.to_thread(self._plane.renew, ids, worker_id, lease_s=lease_s)

    async def ack(self, inv_id: str, worker_id: str, *, result: bytes, attempt: int) -> None:
        """End a running attempt as succeeded. Raises ``FencedError``."""
        await asyncio.to_thread(self._plane.ack, inv_id, worker_id, result=result, attempt=attempt)

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
        """Report a failed attempt. Raises ``FencedError``."""
        await asyncio.to_thread(
            self._plane.nack, inv_id, worker_id, error=error, retry=retry, attempt=attempt, delay_s=delay_s
        )

    async def count(self, queue: str, state: str) -> int:
        """Count the rows of a queue in one state."""
        return await asyncio.to_thread(self._plane.count, queue, state)
