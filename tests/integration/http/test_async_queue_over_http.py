"""``Queue`` on a control plane: asyncio from the call to the socket, no threads, few connections, nothing left open."""

import asyncio
import gc
import threading
import time

import pytest

from dreamlake.lakeshore import Queue, wire
from dreamlake.lakeshore.dispatch.plane import Frame
from dreamlake.lakeshore.errors import (
    DispatchError,
    FencedError,
    InvocationCancelledError,
    InvocationFailedError,
)
from servers.balancer import Balancer
from servers.partition import Partition

LIMIT_S = 60


@pytest.fixture
def run(served):
    """``run(scenario)``: in an event loop of its own, with a queue; asserts that no thread was begun for it."""

    def run(scenario, plane=None):
        plane = plane or served.plane

        async def limited():
            async with asyncio.timeout(LIMIT_S):
                found = await scenario(Queue("default", dispatch=plane))
            assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("asyncio_")]
            return found

        found = asyncio.run(limited())
        gc.collect()  # what was left open would warn
        return found

    return run


def finish(plane, count):
    """Claim that many, and end them with "done"."""
    result = wire.pack("done")
    ends = time.monotonic() + LIMIT_S
    while count:
        assert time.monotonic() < ends
        for job in plane.claim_many("default", "w", min(count, 100)):
            plane.ack(job.id, "w", result=result, attempt=job.attempt)
            count -= 1


async def until_asked(served):
    """Wait until a question waits on the server."""
    open_requests = served.replica.plane.metrics.open_waits
    async with asyncio.timeout(20):
        while next(iter(open_requests.collect())).samples[0].value < 1:  # noqa: ASYNC110 - the server tells in no other way
            await asyncio.sleep(0.01)


async def until_queued(queue):
    """Wait until something is in the queue."""
    while not await queue.count():  # noqa: ASYNC110 - another process's doing
        await asyncio.sleep(0.01)


def test_a_call_is_submitted_run_and_answered(served, run):
    async def scenario(queue):
        (inv_id,) = [await queue.post({"n": 1})]
        async with queue.working(timeout=10) as job:
            assert (job.id, job.payload) == (inv_id, {"n": 1})
            assert await queue.count("running") == 1
            await queue.ack(job, "welcome")
        return await queue.result(inv_id), await queue.count("succeeded")

    assert run(scenario) == ("welcome", 1)


def test_results_come_as_they_end_and_errors_where_they_are_waited_for(served, run):
    async def scenario(queue):
        ids = [await queue.post(n) for n in range(4)]
        await queue.cancel(ids[3])
        for n in (2, 0, 1):
            job = await queue.claim()
            if job.payload == 1:
                await queue.nack(job, ValueError("no"), retry=False)
            else:
                await queue.ack(job, n)
        found = {}
        async for inv_id, value in queue.results(ids, timeout=10, on_error="return"):
            found[ids.index(inv_id)] = value
        with pytest.raises(InvocationCancelledError):
            await queue.result(ids[3])
        with pytest.raises(InvocationFailedError, match="ValueError: no"):
            await queue.result(ids[1])
        return found

    found = run(scenario)
    assert sorted(found) == [0, 1, 2, 3]
    assert isinstance(found[1], InvocationFailedError)
    assert isinstance(found[3], InvocationCancelledError)


def test_two_thousand_tasks_wait_on_few_connections(served, run):
    port = int(served.url.rpartition(":")[2])
    with Partition(port) as net:
        plane = served.connect(f"http://127.0.0.1:{net.port}")

        async def scenario(queue):
            ids = await asyncio.gather(*[queue.post(n) for n in range(2000)])
            waiting = [asyncio.create_task(queue.result(inv_id, timeout=50)) for inv_id in ids]
            await asyncio.sleep(0)
            ending = asyncio.get_running_loop().run_in_executor(None, finish, served.plane, 2000)
            most = 0
            while not all(task.done() for task in waiting):
                most = max(most, net.connections)
                await asyncio.sleep(0.01)
            await ending
            return most, {task.result() for task in waiting}

        most, values = asyncio.run(scenario(Queue("default", dispatch=plane)))
        assert values == {"done"}
        assert most <= 40


def test_an_end_is_told_at_once_though_others_are_waited_for_already(served, run):
    async def scenario(queue):
        slow = asyncio.create_task(queue.result(await queue.post("slow"), timeout=30))
        await until_asked(served)
        took = []
        for _ in range(10):
            inv_id = await queue.post("quick")
            waiting = asyncio.create_task(queue.result(inv_id))
            await asyncio.sleep(0.02)
            jobs = [await queue.claim(), await queue.claim()]
            (job,) = [job for job in jobs if job is not None and job.id == inv_id]
            for other in jobs:
                if other is not None and other is not job:
                    await queue.nack(other, "not yet")
            began = time.monotonic()
            await queue.ack(job)
            await waiting
            took.append(time.monotonic() - began)
        slow.cancel()
        return sorted(took)

    assert run(scenario)[5] < 0.1


def test_an_unknown_id_and_a_timeout_are_said(served, run):
    async def scenario(queue):
        with pytest.raises(DispatchError, match="no invocation nothing on this plane"):
            await queue.result("nothing", timeout=5)
        with pytest.raises(DispatchError, match="no invocation nothing"):
            await anext(queue.stream("nothing"))
        inv_id = await queue.post(1)
        with pytest.raises(TimeoutError, match=r"still 'queued' after 0.1s"):
            await queue.result(inv_id, timeout=0.1)

    run(scenario)


def test_a_stream_is_read_as_it_comes_and_ends_with_its_error(served, run):
    def frame(seq, kind, body):
        return Frame(seq, wire.WireFrame(kind, seq, body).encode(), kind != wire.FrameKind.VALUE)

    async def scenario(queue):
        inv_id = await queue.post("a stream")
        await queue.claim()
        append = served.plane.journal_append_many
        values = queue.stream_frames(inv_id, timeout=10)
        append(inv_id, [frame(0, wire.FrameKind.VALUE, "a"), frame(1, wire.FrameKind.VALUE, "b")])
        assert [await anext(values), await anext(values)] == [(0, "a"), (1, "b")]
        coming = asyncio.create_task(anext(values))
        await asyncio.sleep(0.05)
        append(inv_id, [frame(2, wire.FrameKind.VALUE, "c")])
        assert await coming == (2, "c")
        with pytest.raises(TimeoutError, match="still 'running'"):
            await anext(queue.stream(inv_id, since=2, timeout=0.1))
        error = {"type": "ValueError", "message": "no more"}
        append(inv_id, [frame(3, wire.FrameKind.ERROR, error)])
        with pytest.raises(InvocationFailedError, match="no more"):
            await anext(values)

    run(scenario)


def test_a_cancelled_call_cancels_its_invocation(served, run):
    async def scenario(queue):
        calling = asyncio.create_task(queue.call(len, "abc"))
        await until_queued(queue)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        at_once = asyncio.create_task(queue.call(len, "abc"))
        await asyncio.sleep(0)
        at_once.cancel()
        with pytest.raises(asyncio.CancelledError):
            await at_once
        return await queue.count()

    assert run(scenario) == 0
    assert served.plane.count("default", "cancelled") >= 1


def test_a_claim_waits_for_work_and_holds_nothing_when_it_is_cancelled(served, run):
    async def scenario(queue):
        claiming = asyncio.create_task(queue.claim(timeout=20))
        await until_asked(served)
        began = time.monotonic()
        inv_id = await queue.post(1)
        job = await claiming
        assert job.id == inv_id
        assert time.monotonic() - began < 2
        await queue.nack(job, "again")
        for delay in (0, 0.001, 0.002, 0.005):
            claiming = asyncio.create_task(queue.claim(timeout=20))
            await asyncio.sleep(delay)
            claiming.cancel()
            await asyncio.wait([claiming])
            if not claiming.cancelled():
                await queue.nack(claiming.result(), "again")
        await until_queued(queue)
        assert await queue.claim(timeout=5) is not None

    run(scenario)


def test_working_renews_and_fails_what_raises(served, run):
    async def scenario(queue):
        first = await queue.post(1)
        async with queue.working(timeout=5, lease_s=0.6) as job:
            await asyncio.sleep(1.2)
            assert served.plane.claim("default", "thief") is None
        with pytest.raises(KeyError):
            async with queue.working(job=await _posted(queue), lease_s=30):
                raise KeyError("x")
        again = await queue.claim(timeout=5)
        assert again.attempt == 2
        await queue.cancel(again.id)
        with pytest.raises(FencedError):
            await queue.ack(again)
        return await queue.result(first), job.settled

    async def _posted(queue):
        await queue.post(2)
        return await queue.claim()

    assert run(scenario) == (None, True)


def test_a_plane_that_is_closed_or_away_fails_every_waiter(served):
    plane = served.connect(timeout=1.0)

    async def scenario():
        queue = Queue("default", dispatch=plane)
        ids = [await queue.post(n) for n in range(3)]
        waiting = [asyncio.create_task(queue.result(inv_id)) for inv_id in ids]
        await until_asked(served)
        plane.close()
        done = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 10)
        assert [type(error) for error in done] == [DispatchError] * 3
        with pytest.raises(DispatchError, match="is closed"):
            await queue.post(1)

    asyncio.run(scenario())
    gc.collect()


def test_connections_that_break_are_made_anew(served, run):
    with Partition(int(served.url.rpartition(":")[2])) as net:
        plane = served.connect(f"http://127.0.0.1:{net.port}")

        async def scenario(queue):
            ids = [await queue.post(n) for n in range(50)]
            waiting = [asyncio.create_task(queue.result(inv_id)) for inv_id in ids]
            for _ in range(3):
                await asyncio.sleep(0.1)
                net.reset()
                await asyncio.get_running_loop().run_in_executor(None, finish, served.plane, 10)
            await asyncio.get_running_loop().run_in_executor(None, finish, served.plane, 20)
            return await asyncio.gather(*waiting)

        assert asyncio.run(scenario(Queue("default", dispatch=plane))) == ["done"] * 50


def test_one_loop_after_another_uses_the_same_plane(served, run):
    async def scenario(queue):
        return await queue.count()

    assert [run(scenario) for _ in range(3)] == [0, 0, 0]
    assert len(served.plane._faces) <= 1


def test_behind_a_balancer_of_two_replicas_every_end_arrives(serve, redis_url, run):
    one, two = serve(redis_url=redis_url), serve(redis_url=redis_url)
    ports = [int(site.url.rpartition(":")[2]) for site in (one, two)]
    with Balancer(*ports) as net:
        plane = one.connect(net.url)

        async def scenario(queue):
            loop = asyncio.get_running_loop()
            values = []
            slow = asyncio.create_task(queue.result(await queue.post("slow"), timeout=40))
            for _ in range(5):
                ids = [await queue.post(n) for n in range(20)]
                ending = loop.run_in_executor(None, finish, two.plane, 20)
                values += await asyncio.gather(*[queue.result(inv_id) for inv_id in ids[:-1]])
                await ending
            await loop.run_in_executor(None, finish, two.plane, 1)
            return [*values, await slow]

        assert asyncio.run(scenario(Queue("default", dispatch=plane))) == ["done"] * 96
        plane.close()
