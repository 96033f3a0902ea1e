"""Queue: the same verbs with await, and waits that take no thread each."""

import asyncio
import threading

import pytest

from dreamlake.lakeshore import Queue, SyncQueue, udf
from dreamlake.lakeshore.errors import DispatchError, InvocationCancelledError, InvocationFailedError


def add(a, b=0):
    return a + b


def fail():
    raise ValueError("no disk")


def count_to(n):
    yield from range(n)


@pytest.fixture
def q(plane):
    return Queue("q", dispatch=plane)


def test_submit_result_call_cancel_and_count(q, plane, work_on):
    async def main():
        cancelled = await q.submit(add, 1)
        assert await q.count() == 1
        assert await q.cancel(cancelled)
        work_on(plane, "q")
        inv = await q.submit(add, 2, b=3)
        assert await q.result(inv, timeout=30) == 5
        assert await q.call(add, 1, 2) == 3
        with pytest.raises(InvocationCancelledError):
            await q.result(cancelled)

    asyncio.run(main())


def test_errors_are_those_of_the_sync_queue(q, plane, work_on):
    async def main():
        waiting = await q.submit(add, 1, _delay_s=60)
        with pytest.raises(TimeoutError, match=f"invocation {waiting} still 'queued' after 0.05s"):
            await q.result(waiting, timeout=0.05)
        with pytest.raises(DispatchError, match="no invocation 0000"):
            await q.result("0" * 26)
        work_on(plane, "q", retries=0)
        with pytest.raises(InvocationFailedError, match="ValueError: no disk"):
            await q.call(fail)

    asyncio.run(main())


def test_a_thousand_tasks_wait_without_a_thread_each(q, plane, work_on):
    async def main():
        ids = await q.submit_many(add, range(1000))
        tasks = [asyncio.create_task(q.result(inv, timeout=60)) for inv in ids]
        for _ in range(3):
            await asyncio.sleep(0)
        threads = threading.active_count()
        assert threads < 100
        assert await q.count() == 1000  # the plane still answers while all of them wait
        work_on(plane, "q")
        assert await asyncio.gather(*tasks) == list(range(1000))

    asyncio.run(main())


def test_results_come_as_they_complete(q, plane, work_on):
    async def main():
        ids = [*await q.submit_many(add, range(20)), await q.submit(fail)]
        work_on(plane, "q", retries=0)
        found = {inv: value async for inv, value in q.results(ids, timeout=30, on_error="return")}
        assert [found[inv] for inv in ids[:20]] == list(range(20))
        assert isinstance(found[ids[20]], InvocationFailedError)
        late = await q.submit(add, 1, _delay_s=60)
        with pytest.raises(TimeoutError, match="1 invocations have not ended"):
            [pair async for pair in q.results([late], timeout=0.05)]

    asyncio.run(main())


def test_streams_come_in_order_and_resume_by_seq(q, plane, work_on):
    async def main():
        work_on(plane, "q")
        inv = await q.submit(count_to, 600)
        pairs = [pair async for pair in q.stream_frames(inv)]
        assert [value for _seq, value in pairs] == list(range(600))
        assert [value async for value in q.stream(inv, since=pairs[-3][0])] == [598, 599]

    asyncio.run(main())


def test_a_stream_that_raises_and_one_that_is_silent(q, plane, work_on):
    def stream():
        yield 1
        raise OSError("disk")

    async def main():
        silent = await q.submit(stream, _delay_s=60)
        with pytest.raises(TimeoutError, match="still 'queued'"):
            [value async for value in q.stream(silent, timeout=0.05)]
        work_on(plane, "q", retries=0)
        seen = []
        with pytest.raises(InvocationFailedError, match="OSError: disk"):
            async for value in q.stream(await q.submit(stream)):
                seen.append(value)  # noqa: PERF401 - what came before the error counts
        assert seen == [1]
        with pytest.raises(DispatchError, match="0000"):
            [value async for value in q.stream("0" * 26, timeout=1)]

    asyncio.run(main())


def test_cancelling_the_task_of_a_call_cancels_the_invocation(q, plane):
    async def main():
        task = asyncio.create_task(udf(add_async, queue=q)(1))
        async with asyncio.timeout(10):
            while not await q.count():  # noqa: ASYNC110 - the row is the event
                await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await q.count("cancelled") == 1

    asyncio.run(main())


async def add_async(a):
    return a


def test_report_34_leaving_an_async_stream_cancels_the_invocation(q, plane, work_on):
    async def long():
        for n in range(200):
            yield n
            await asyncio.sleep(0.005)

    async def main():
        work_on(plane, "q")
        stream = udf(long, queue=q)()
        assert await anext(stream) == 0
        await stream.aclose()
        assert await q.count("cancelled") == 1

    asyncio.run(main())


def test_payloads_are_claimed_acked_and_nacked(q):
    async def main():
        inv = await q.post({"n": 1})
        async with q.working() as job:
            assert job.payload == {"n": 1}
        assert await q.result(inv) is None
        await q.post("again")
        with pytest.raises(KeyError):
            async with q.working() as job:
                raise KeyError("x")
        job = await q.claim()
        assert job.attempt == 2
        await q.nack(job, "never", retry=False)
        assert await q.count("failed") == 1
        async with q.working() as nothing:
            assert nothing is None

    asyncio.run(main())


def test_claim_waits_for_what_is_posted_later(q):
    async def main():
        claiming = asyncio.create_task(q.claim(timeout=20))
        await asyncio.sleep(0)
        await q.post("late")
        job = await claiming
        assert job.payload == "late"
        await q.ack(job, "done")
        assert await q.result(job.id) == "done"

    asyncio.run(main())


def test_waiting_leaves_nothing_behind(q, plane):
    async def main():
        inv = await q.submit(add, 1)
        with pytest.raises(TimeoutError):
            await q.result(inv, timeout=0.01)
        async with asyncio.timeout(10):
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - it ends by itself
                await asyncio.sleep(0.005)

    asyncio.run(main())


def test_a_queue_and_a_sync_queue_are_one_queue(q, plane):
    inv = asyncio.run(q.post(1))
    assert SyncQueue("q", dispatch=plane).claim().id == inv
