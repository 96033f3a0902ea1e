"""``Queue``: the face of a queue for asyncio."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import DEFAULT_LEASE_S
from dreamlake.lakeshore.queue.base import BaseQueue, check_on_error, check_timeout
from dreamlake.lakeshore.queue.frames import raise_if_error, raise_unless_known, raise_unless_succeeded
from dreamlake.lakeshore.queue.outcomes import still_waiting, value_of
from dreamlake.lakeshore.queue.synchronous import SyncQueue
from dreamlake.lakeshore.queue.waiting import OWNED_LIMIT_S
from dreamlake.lakeshore.queue.watching import Wakeups, watcher_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable

    from dreamlake.lakeshore.dispatch.plane import Outcome
    from dreamlake.lakeshore.function.run_options import RunOptions
    from dreamlake.lakeshore.queue.job import Job

_LONGEST_WAIT_S = 5.0
_BATCH = 256


class Queue(BaseQueue):
    """A queue as ``SyncQueue`` is one, with ``await``: ``Queue(name, *, dispatch=None, kind="fifo", ...)``.

    Verbs of the local plane run in asyncio's default threads, since SQLite blocks; waiting takes no thread,
    so thousands of tasks may wait for results at once.
    """

    async def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
        """Submit a call and give its id; options as for ``UDF.submit``."""
        return await asyncio.to_thread(self._sync.submit, fn, *args, **kwargs)

    async def submit_many(
        self, fn: Callable[..., Any], items: Iterable[Any], *, options: RunOptions | None = None
    ) -> list[str]:
        """Submit one call per item, all or none; ids in order."""
        return await asyncio.to_thread(self._sync.submit_many, fn, items, options=options)

    async def post(self, value: object, *, options: RunOptions | None = None) -> str:
        """Put a payload in the queue for a consumer to ``claim``, and give its id."""
        return await asyncio.to_thread(self._sync.post, value, options=options)

    async def result(self, inv_id: str, timeout: float | None = 30.0) -> Any:  # noqa: ASYNC109
        """Wait up to ``timeout`` seconds for the result. Raises as ``SyncQueue.result`` does."""
        check_timeout(timeout)
        try:
            async with asyncio.timeout(timeout):
                outcome = await self._outcome(inv_id)
        except TimeoutError:
            raise await asyncio.to_thread(still_waiting, self.dispatch, inv_id, timeout) from None
        return value_of(outcome)

    async def _outcome(self, inv_id: str) -> Outcome:
        # In one step: a watcher that nobody waits on ends at the loop's next turn.
        return await watcher_of(self.dispatch).outcome(inv_id)

    async def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Submit a call and wait for its result; cancelling the task cancels the invocation."""
        inv_id = await self.submit(fn, *args, **kwargs)
        try:
            return await self.result(inv_id, timeout=OWNED_LIMIT_S)
        except BaseException:
            await self._cancel_owned(inv_id)
            raise

    async def call_stream(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """Submit a call of a generator body and yield its values; leaving early cancels the invocation."""
        inv_id = await self.submit(fn, *args, **kwargs)
        try:
            async for value in self.stream(inv_id, timeout=OWNED_LIMIT_S):
                yield value
        except BaseException:
            await self._cancel_owned(inv_id)
            raise

    async def _cancel_owned(self, inv_id: str) -> None:
        # Shielded: the task is being cancelled as a rule, and the invocation has to be all the same.
        await asyncio.shield(asyncio.create_task(self.cancel(inv_id)))

    async def results(
        self,
        ids: Iterable[str],
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        on_error: Literal["raise", "return"] = "raise",
    ) -> AsyncIterator[tuple[str, Any]]:
        """Yield ``(id, result)`` as invocations end, each id once; see ``SyncQueue.results``."""
        check_on_error(on_error)
        check_timeout(timeout)
        tasks = [asyncio.create_task(self._outcome(inv_id)) for inv_id in dict.fromkeys(ids)]
        try:
            for next_done in asyncio.as_completed(tasks, timeout=timeout):
                outcome = await next_done
                yield outcome.id, value_of(outcome, on_error)
        except TimeoutError:
            missing = sum(not task.done() for task in tasks)
            raise TimeoutError(
                f"{missing} invocations have not ended after {timeout} s: ask again with a longer timeout, "
                "or see `lakeshore jobs list`"
            ) from None
        finally:
            for task in tasks:
                task.cancel()

    async def stream(
        self,
        inv_id: str,
        since: int = -1,
        *,
        timeout: float = 30.0,  # noqa: ASYNC109
    ) -> AsyncGenerator[Any, None]:
        """Yield what a generator body yields, as it comes; see ``SyncQueue.stream``."""
        async for _seq, value in self.stream_frames(inv_id, since, timeout=timeout):
            yield value

    async def stream_frames(
        self,
        inv_id: str,
        since: int = -1,
        *,
        timeout: float = 30.0,  # noqa: ASYNC109
    ) -> AsyncGenerator[tuple[int, Any], None]:
        """Like ``stream``, yielding ``(seq, value)``: pass the last ``seq`` as ``since`` to go on after a break."""
        wakeups = Wakeups(self.dispatch.listen(f"journal:{inv_id}"))
        try:
            await asyncio.to_thread(raise_unless_known, self.dispatch, inv_id)
            quiet_since = time.monotonic()
            while True:
                entries, complete = await asyncio.to_thread(self._read_journal, inv_id, since)
                for seq, data in entries:
                    since = seq
                    frame = wire.WireFrame.decode(data)
                    if frame.kind == wire.FrameKind.VALUE:
                        yield seq, frame.body
                    elif frame.terminal:
                        raise_if_error(inv_id, frame)
                        return
                if complete:
                    await asyncio.to_thread(raise_unless_succeeded, self.dispatch, inv_id)
                    return
                if entries:
                    quiet_since = time.monotonic()
                elif time.monotonic() - quiet_since >= timeout:
                    raise await asyncio.to_thread(still_waiting, self.dispatch, inv_id, timeout)
                else:
                    await wakeups.wait(min(timeout, _LONGEST_WAIT_S))
        finally:
            wakeups.close()

    def _read_journal(self, inv_id: str, since: int) -> tuple[list[tuple[int, bytes]], bool]:
        """Read what is there; whether nothing can follow it."""
        entries: list[tuple[int, bytes]] = []
        reader = self.dispatch.journal_read(inv_id, since=since, timeout=0)
        try:
            for entry in islice(reader, _BATCH):
                entries.append(entry)  # noqa: PERF402
        except TimeoutError:
            return entries, False
        return entries, len(entries) < _BATCH

    async def cancel(self, inv_id: str) -> bool:
        """End an invocation as cancelled; False when it has ended already or is unknown."""
        return await asyncio.to_thread(self._sync.cancel, inv_id)

    async def count(self, state: str = "queued") -> int:
        """Count the queue's invocations in one state."""
        return await asyncio.to_thread(self._sync.count, state)

    async def claim(self, *, timeout: float = 0.0, lease_s: float = DEFAULT_LEASE_S) -> Job | None:  # noqa: ASYNC109
        """Lease the next job, waiting up to ``timeout`` seconds for one; or None."""
        check_timeout(timeout)
        ends = time.monotonic() + timeout
        wakeups = Wakeups(self.dispatch.listen(f"work:{self.name}"))
        try:
            while True:
                job = await asyncio.to_thread(self._sync.claim, lease_s=lease_s)
                left = ends - time.monotonic()
                if job is not None or left <= 0:
                    return job
                due = await asyncio.to_thread(self.dispatch.next_due, self.name)
                await wakeups.wait(max(0.001, min(left, _LONGEST_WAIT_S if due is None else due)))
        finally:
            wakeups.close()

    async def ack(self, job: Job, result: object = None) -> None:
        """End the job as succeeded with ``result``."""
        await asyncio.to_thread(self._sync.ack, job, result)

    async def nack(self, job: Job, error: Any = "refused by its consumer", *, retry: bool = True) -> None:
        """Report that the attempt failed: queued again, or failed without ``retry``."""
        await asyncio.to_thread(lambda: self._sync.nack(job, error, retry=retry))

    @asynccontextmanager
    async def working(
        self,
        job: Job | None = None,
        *,
        timeout: float = 0.0,  # noqa: ASYNC109
        lease_s: float = DEFAULT_LEASE_S,
    ) -> AsyncIterator[Job | None]:
        """Work on a job: acked at the end of the block, nacked when it raises; see ``SyncQueue.working``."""
        job = await self.claim(timeout=timeout, lease_s=lease_s) if job is None else job
        if job is None:
            yield None
            return
        block = self._sync.working(job, lease_s=lease_s)
        await asyncio.to_thread(block.__enter__)
        try:
            yield job
        except BaseException as exc:
            error = exc
            await asyncio.shield(
                asyncio.create_task(
                    asyncio.to_thread(block.__exit__, type(error), error, error.__traceback__)
                )
            )
            raise
        await asyncio.to_thread(block.__exit__, None, None, None)

    @property
    def _sync(self) -> SyncQueue:
        found: SyncQueue | None = self.__dict__.get("_sync_queue")
        if found is None:
            found = self.__dict__["_sync_queue"] = SyncQueue.like(self)
        return found
