"""``Queue``: the face of a queue for asyncio."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import DEFAULT_LEASE_S
from dreamlake.lakeshore.errors import DispatchError, FencedError
from dreamlake.lakeshore.function.code_stamp import code_stamp, is_stamp_at_hand
from dreamlake.lakeshore.function.enveloping import own_config
from dreamlake.lakeshore.function.run_options import run_options
from dreamlake.lakeshore.function.thunk import Thunk
from dreamlake.lakeshore.queue.base import BaseQueue, check_on_error, check_timeout
from dreamlake.lakeshore.queue.consuming import after_failure, error_told, note_lost_lease
from dreamlake.lakeshore.queue.frames import raise_if_error
from dreamlake.lakeshore.queue.job import Job
from dreamlake.lakeshore.queue.outcomes import error_of, still_waiting, unknown_id, value_of
from dreamlake.lakeshore.queue.synchronous import SyncQueue, payload_submission
from dreamlake.lakeshore.queue.threaded import async_plane_of
from dreamlake.lakeshore.queue.waiting import OWNED_LIMIT_S
from dreamlake.lakeshore.transport import function_arm

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable

    from dreamlake.lakeshore.dispatch.async_plane import AsyncPlane
    from dreamlake.lakeshore.function.run_options import RunOptions

_OPTIONS = ("_key", "_priority", "_retries", "_timeout_s", "_deadline", "_delay_s", "_backoff")


class Queue(BaseQueue):
    """A queue as ``SyncQueue`` is one, with ``await``: ``Queue(name, *, dispatch=None, kind="fifo", ...)``.

    On a control plane no verb takes a thread. Verbs of the local plane run in asyncio's default threads, since SQLite
    blocks; waiting takes no thread there either, so thousands of tasks may wait for results at once.
    """

    @property
    def _plane(self) -> AsyncPlane:
        return async_plane_of(self.dispatch)

    async def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
        """Submit a call and give its id; options as for ``UDF.submit``."""
        options = run_options(*(kwargs.pop(name, None) for name in _OPTIONS))
        await self._push_code(fn)
        made = self._sync.submission(fn, args, kwargs, options.over(own_config(fn)))
        return (await self._plane.submit_many(self.name, [made]))[0]

    async def submit_many(
        self, fn: Callable[..., Any], items: Iterable[Any], *, options: RunOptions | None = None
    ) -> list[str]:
        """Submit one call per item, all or none; ids in order."""
        await self._push_code(fn)
        return await self._plane.submit_many(self.name, self._sync.submissions(fn, items, options))

    async def _push_code(self, fn: Callable[..., Any]) -> None:
        """Push the function's code where workers may lack it: in a thread, for git and files block."""
        plane = self.dispatch
        if plane.local or isinstance(fn, Thunk):
            return
        arm = function_arm(fn)
        if not is_stamp_at_hand(arm, plane):
            await asyncio.to_thread(code_stamp, arm, plane)

    async def post(self, value: object, *, options: RunOptions | None = None) -> str:
        """Put a payload in the queue for a consumer to ``claim``, and give its id."""
        return (await self._plane.submit_many(self.name, [payload_submission(value, options)]))[0]

    async def result(self, inv_id: str, timeout: float | None = 30.0) -> Any:  # noqa: ASYNC109
        """Wait up to ``timeout`` seconds for the result. Raises as ``SyncQueue.result`` does."""
        check_timeout(timeout)
        plane = self._plane
        try:
            async with asyncio.timeout(timeout):
                outcome = await plane.outcome(inv_id)
        except TimeoutError:
            raise still_waiting(await plane.get(inv_id), inv_id, timeout) from None
        return value_of(outcome)

    async def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Submit a call and wait for its result; cancelling the task cancels the invocation."""
        inv_id = await self._submit_owned(fn, args, kwargs)
        try:
            return await self.result(inv_id, timeout=OWNED_LIMIT_S)
        except BaseException:
            await self._cancel_owned(inv_id)
            raise

    async def call_stream(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """Submit a call of a generator body and yield its values; leaving early cancels the invocation."""
        inv_id = await self._submit_owned(fn, args, kwargs)
        try:
            async for value in self.stream(inv_id, timeout=OWNED_LIMIT_S):
                yield value
        except BaseException:
            await self._cancel_owned(inv_id)
            raise

    async def _submit_owned(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str:
        submitting = asyncio.ensure_future(self.submit(fn, *args, **kwargs))
        try:
            return await asyncio.shield(submitting)
        except asyncio.CancelledError:
            with suppress(DispatchError):
                await self.cancel(await submitting)
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
        plane = self._plane
        tasks = [asyncio.ensure_future(plane.outcome(inv_id)) for inv_id in dict.fromkeys(ids)]
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
        plane = self._plane
        if await plane.get(inv_id) is None:
            raise unknown_id(inv_id)
        try:
            async with aclosing(plane.journal_read(inv_id, since=since, timeout=timeout)) as entries:
                async for seq, data in entries:
                    frame = wire.WireFrame.decode(data)
                    if frame.kind == wire.FrameKind.VALUE:
                        yield seq, frame.body
                    elif frame.terminal:
                        raise_if_error(inv_id, frame)
                        return
        except TimeoutError:
            raise still_waiting(await plane.get(inv_id), inv_id, timeout) from None
        await self._raise_unless_succeeded(inv_id)

    async def _raise_unless_succeeded(self, inv_id: str) -> None:
        """Raise what the row of an ended invocation says: it failed, was cancelled, or is unknown."""
        row = await self._plane.get(inv_id)
        if row is None:
            raise unknown_id(inv_id)
        if row["state"] in ("failed", "cancelled"):
            raise error_of(await self._plane.outcome(inv_id))

    async def cancel(self, inv_id: str) -> bool:
        """End an invocation as cancelled; False when it has ended already or is unknown."""
        return bool(await self._plane.cancel_many([inv_id]))

    async def count(self, state: str = "queued") -> int:
        """Count the queue's invocations in one state."""
        return await self._plane.count(self.name, state)

    async def claim(self, *, timeout: float = 0.0, lease_s: float = DEFAULT_LEASE_S) -> Job | None:  # noqa: ASYNC109
        """Lease the next job, waiting up to ``timeout`` seconds for one; or None."""
        check_timeout(timeout)
        claimed = await self._plane.claim(
            self.name,
            self.worker_id,
            kind=self.kind,
            temperature=self.temperature,
            lease_s=lease_s,
            wait_s=timeout,
        )
        return None if claimed is None else Job(claimed)

    async def ack(self, job: Job, result: object = None) -> None:
        """End the job as succeeded with ``result``."""
        await self._plane.ack(job.id, self.worker_id, result=wire.pack(result), attempt=job.attempt)
        job.settled = True

    async def nack(
        self,
        job: Job,
        error: Any = "refused by its consumer",
        *,
        retry: bool = True,
        delay_s: float = 0.0,
    ) -> None:
        """Report that the attempt failed: queued again after ``delay_s`` seconds, or failed without ``retry``."""
        await self._plane.nack(
            job.id,
            self.worker_id,
            error=error_told(error),
            retry=retry,
            attempt=job.attempt,
            delay_s=delay_s,
        )
        job.settled = True

    @asynccontextmanager
    async def working(
        self,
        job: Job | None = None,
        *,
        timeout: float = 0.0,  # noqa: ASYNC109
        lease_s: float = DEFAULT_LEASE_S,
    ) -> AsyncIterator[Job | None]:
        """Work on a job: acked at the end of the block, nacked when it raises; see ``SyncQueue.working``.

        The lease is renewed by a task: a block that does not await for as long as a lease loses it.
        """
        job = await self.claim(timeout=timeout, lease_s=lease_s) if job is None else job
        if job is None:
            yield None
            return
        keeper = asyncio.create_task(self._keep(job, lease_s), name=f"lakeshore-lease-{job.id}")
        try:
            yield job
        except BaseException as exc:
            if not job.settled:
                await asyncio.shield(asyncio.create_task(self._nack_failed(job, exc)))
            raise
        finally:
            keeper.cancel()
        if not job.settled:
            await self.ack(job)

    async def _keep(self, job: Job, lease_s: float) -> None:
        lost: set[str] = set()
        while job.id not in lost and not job.settled:
            await asyncio.sleep(lease_s / 3)
            with suppress(DispatchError):  # the next try may do; a lost lease shows at the ack
                lost = await self._plane.renew([job.id], self.worker_id, lease_s=lease_s)

    async def _nack_failed(self, job: Job, exc: BaseException) -> None:
        retry, pause = after_failure(job, exc)
        try:
            await self.nack(job, exc, retry=retry, delay_s=pause)
        except FencedError:
            note_lost_lease(job, exc)

    @property
    def _sync(self) -> SyncQueue:
        found: SyncQueue | None = self.__dict__.get("_sync_queue")
        if found is None:
            found = self.__dict__["_sync_queue"] = SyncQueue.like(self)
        return found
