"""``AsyncHttp``: the plane of a control plane for an event loop, without threads."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.http import queues, results, submitting, working
from dreamlake.lakeshore.dispatch.http.async_requests import AsyncRequests
from dreamlake.lakeshore.dispatch.http.journals import Reader
from dreamlake.lakeshore.dispatch.http.outcomes import AsyncOutcomes
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S
from dreamlake.lakeshore.dispatch.http.steps import Ask
from dreamlake.lakeshore.dispatch.plane import Finished
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from dreamlake.lakeshore.dispatch.http.drains import DrainOrders
    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.http.steps import Steps
    from dreamlake.lakeshore.dispatch.plane import Claimed, Outcome, Submission
    from dreamlake.lakeshore.errors import ErrorInfo

_REMEMBERED = 100_000
_LOOK_S = 0.2
"""Seconds after which it is looked up whether an id exists whose end has not come."""


class AsyncHttp:
    """See ``AsyncPlane``. For one event loop; its connections end with the loop, or by ``close``."""

    def __init__(self, requests: Requests, orders: DrainOrders) -> None:
        self._requests = AsyncRequests(requests)
        self._orders = orders
        self._outcomes = AsyncOutcomes(self._requests)
        self._submitted: dict[str, None] = {}  # by this object: they need no look whether they exist

    @property
    def closed(self) -> bool:
        """Whether it can be used no more."""
        return self._requests.closed

    async def submit_many(self, queue: str, items: Sequence[Submission]) -> list[str]:
        """Store invocations; their ids."""
        ids = await self._requests.run(submitting.submit_many(queue, items, self._requests.timeout_s))
        self._submitted.update(dict.fromkeys(ids))
        while len(self._submitted) > _REMEMBERED:
            del self._submitted[next(iter(self._submitted))]
        return ids

    async def cancel_many(self, ids: Iterable[str]) -> set[str]:
        """End many as ``cancelled``; the ids of those that this call ended."""
        return await self._requests.run(submitting.cancel(ids))

    async def get(self, inv_id: str) -> dict[str, object] | None:
        """Give the row, or None."""
        return await self._requests.run(results.get(inv_id))

    async def outcome(self, inv_id: str) -> Outcome:
        """Wait until it has ended. Raises ``DispatchError`` for an unknown id."""
        if inv_id in self._submitted:
            return await self._outcomes.outcome(inv_id)
        waiting = asyncio.ensure_future(self._outcomes.outcome(inv_id))
        try:
            await asyncio.wait([waiting], timeout=_LOOK_S)
            if not waiting.done() and await self.get(inv_id) is None and not waiting.done():
                raise verdicts.unknown_invocation(inv_id)
            return await waiting
        finally:
            waiting.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await waiting

    async def journal_read(
        self,
        inv_id: str,
        *,
        since: int,
        timeout: float,  # noqa: ASYNC109
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield ``(seq, frame)`` after ``since``, gapless and in order, until final or a terminal state."""
        reader = Reader(inv_id, since, timeout)
        while not reader.done:
            for entry in await self._requests.run(reader.page(self._requests.patient(LONG_POLL_S))):
                yield entry

    async def claim(
        self, queue: str, worker_id: str, *, kind: str, temperature: float, lease_s: float, wait_s: float
    ) -> Claimed | None:
        """Lease the next invocation, waiting up to ``wait_s`` seconds for one."""
        ends = time.monotonic() + wait_s
        cursor: object = None
        while True:
            claiming = working.claim_many(
                self._orders, queue, worker_id, 1, kind=kind, temperature=temperature, lease_s=lease_s
            )
            found = await self._claimed(claiming, worker_id)
            left = ends - time.monotonic()
            if found or left <= 0:
                return found[0] if found else None
            if cursor is None:  # claim again after this, so that what comes in between is not missed
                cursor = await self._requests.run(_hear(queue, None, 0.0))
                continue
            due = await self._requests.run(queues.next_due(queue))
            pause = min(left, LONG_POLL_S if due is None else max(due, 0.005))
            cursor = await self._requests.run(_hear(queue, cursor, self._requests.patient(pause)))

    async def _claimed(self, claiming: Steps[list[Claimed]], worker_id: str) -> list[Claimed]:
        """Claim; cancelled, hand back what the answer brings."""
        task = asyncio.ensure_future(self._requests.run(claiming))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            with suppress(DispatchError):
                held = await task
                await self._requests.run(working.release([job.id for job in held], worker_id))
            raise

    async def renew(self, ids: Iterable[str], worker_id: str, *, lease_s: float) -> set[str]:
        """Extend leases; the ids that are no longer held."""
        return await self._requests.run(working.renew(self._orders, ids, worker_id, lease_s))

    async def ack(self, inv_id: str, worker_id: str, *, result: bytes, attempt: int) -> None:
        """End a running attempt as succeeded. Raises ``FencedError``."""
        await self._requests.run(working.finish(worker_id, attempt, Finished(inv_id, 0, result)))

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
        told = Finished(inv_id, 0, error=working.error_of(error), retry=retry, delay_s=delay_s)
        await self._requests.run(working.finish(worker_id, attempt, told))

    async def count(self, queue: str, state: str) -> int:
        """Count the rows of a queue in one state."""
        return await self._requests.run(queues.count(queue, state))

    async def close(self) -> None:
        """Close every connection; calls under way raise ``DispatchError``."""
        await self._requests.close()

    def close_soon(self) -> None:
        """Close, from within the loop."""
        self._closing = asyncio.ensure_future(self.close())


def _hear(queue: str, cursor: object, wait_s: float) -> Steps[object]:
    """Wait until something may be claimable that was not at ``cursor``; the cursor now."""
    topic = f"work:{queue}"
    found = yield Ask("producer/wait", {"topics": {topic: cursor}, "timeout_s": wait_s}, wait_s)
    return found["cursors"].get(topic, cursor)
