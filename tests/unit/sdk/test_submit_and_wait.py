"""Submitting to a queue and getting results back, against real workers."""

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from dreamlake.lakeshore import RunConfig, SyncQueue, run, scope, thunk, udf, wire
from dreamlake.lakeshore.dispatch.plane import Backoff
from dreamlake.lakeshore.errors import (
    ConfigError,
    DispatchError,
    InvocationCancelledError,
    InvocationFailedError,
)


@pytest.fixture
def q(plane):
    return SyncQueue("q", dispatch=plane)


def on(q, fn, **options):
    return udf(fn, queue=q, **options)


def add(a, b=0):
    return a + b


def fail(text):
    raise ValueError(text)


def count_to(n):
    yield from range(n)


async def add_async(a, b):
    await asyncio.sleep(0)
    return a + b


async def count_to_async(n):
    for value in range(n):
        yield value


def where_am_i():
    return [run.invocation_id, run.attempt, run.prefix]


def test_submit_gives_an_id_and_result_the_value(q, work_on, plane):
    inv = on(q, add).submit(2, 3)
    assert isinstance(inv, str)
    assert len(inv) == 26
    work_on(plane, "q")
    assert q.result(inv, timeout=30.0) == 5
    assert SyncQueue("q", dispatch=plane).result(inv) == 5


def test_a_plain_call_of_a_udf_with_a_queue_submits_and_waits(q, work_on, plane):
    work_on(plane, "q")
    remote_add = on(q, add)
    assert remote_add(2, b=3) == 5
    assert remote_add.remote(2, 3) == 5
    assert q.count("succeeded") == 2


def test_generators_are_iterated_as_they_run(q, work_on, plane):
    work_on(plane, "q")
    assert list(on(q, count_to)(3)) == [0, 1, 2]
    assert list(on(q, count_to).remote(3)) == [0, 1, 2]
    assert list(on(q, count_to_async).remote(3)) == [0, 1, 2]


def test_async_bodies_are_awaited_by_a_plain_call_and_waited_for_by_remote(q, work_on, plane):
    work_on(plane, "q")

    async def main():
        values = [value async for value in on(q, count_to_async)(3)]
        return await on(q, add_async)(1, 2), values

    assert asyncio.run(main()) == (3, [0, 1, 2])
    assert on(q, add_async).remote(3, 4) == 7


def test_remote_of_an_async_body_in_a_running_loop_says_to_await(q):
    async def main():
        with pytest.raises(RuntimeError, match=r"use `await add_async\(\.\.\.\)`"):
            on(q, add_async).remote(1, 2)
        with pytest.raises(RuntimeError, match=r"use `async for value in count_to_async\(\.\.\.\)`"):
            on(q, count_to_async).remote(1)

    asyncio.run(main())
    assert q.count() == 0


def test_call_and_thunks_on_a_queue(q, work_on, plane):
    work_on(plane, "q")
    offset = 10
    assert q.call(add, 1, b=2) == 3
    assert q.result(q.submit(thunk(lambda x: x + offset, 5))) == 15
    assert q.result(thunk(add, 1, b=1).submit(q)) == 2
    with pytest.raises(TypeError, match="has its arguments already"):
        q.submit(thunk(add, 1), 2)


def test_a_body_knows_its_invocation_and_runs_in_the_submitters_scope(q, work_on, plane):
    with scope("scenes"), scope("0007"):
        inv = q.submit(where_am_i)
    work_on(plane, "q")
    assert q.result(inv) == [inv, 1, "scenes/0007"]


def test_files_are_written_in_the_workers_root_and_their_keys_come_back(q, work_on, plane, tmp_path):
    def render():
        run.write("depth.txt").write_text("far")
        return ["depth.txt"]

    work_on(plane, "q")
    with scope("scenes/1"):
        assert on(q, render)() == ["depth.txt"]
    assert (tmp_path / "scenes/1/depth.txt").read_text() == "far"


def test_the_key_contract_fails_remotely_with_the_message_it_fails_with_at_home(q, work_on, plane, tmp_path):
    def forget():
        run.write("a.txt").write_text("")

    work_on(plane, "q", retries=0)
    with pytest.raises(InvocationFailedError) as remote:
        on(q, forget)()
    with scope(root=tmp_path), pytest.raises(Exception, match=r"wrote 'a\.txt' but returned None") as local:
        on(q, forget).local()
    assert remote.value.error.type == type(local.value).__name__ == "KeyContractError"
    assert remote.value.error.message == str(local.value)


def submit_one_more():
    return HERE["q"].submit(add, 1, 1)


HERE = {}


def test_a_body_that_submits_is_the_parent_of_what_it_submits(q, work_on, plane, monkeypatch):
    monkeypatch.setitem(HERE, "q", q)
    work_on(plane, "q")
    inv = q.submit(submit_one_more)
    child = q.result(inv)
    assert q.result(child) == 2
    assert plane.get(child)["parent"] == inv


def test_the_same_key_gives_the_first_invocation(q):
    first = q.submit(add, 1, _key="k")
    assert q.submit(add, 2, _key="k") == first
    assert q.count() == 1
    assert SyncQueue("other", dispatch=q.dispatch).submit(add, 3, _key="k") != first


def test_options_of_a_submit_reach_the_plane(q, plane):
    settings = RunConfig(timeout_s=9.0, retries=1)
    configured = udf(add, queue=q, config=settings, retries=4, backoff=0.5)
    configured.submit(1)
    q.submit(add, 1, _retries=0, _timeout_s=2.5, _backoff=Backoff(1.0, 8.0), _priority=5)
    urgent, usual = plane.claim("q", "w"), plane.claim("q", "w")
    assert (urgent.retries, urgent.timeout_s, urgent.backoff) == (0, 2.5, Backoff(1.0, 8.0))
    assert (usual.retries, usual.timeout_s, usual.backoff) == (4, 9.0, Backoff(base_s=0.5))


def test_a_delayed_call_does_not_start_before_its_time(q, plane):
    inv = q.submit(add, 1, _delay_s=60)
    assert plane.claim("q", "w") is None
    assert q.count() == 1
    assert plane.get(inv)["state"] == "queued"


@pytest.mark.parametrize(
    "past", [1.0, datetime(2020, 1, 1, tzinfo=UTC), timedelta(seconds=-1)], ids=["unix", "datetime", "span"]
)
def test_a_call_past_its_deadline_never_starts(q, plane, past):
    q.submit(add, 1, _deadline=past)
    assert plane.claim("q", "w") is None


def test_wrong_options_are_refused_before_anything_is_stored(q):
    for options in (
        {"_retries": -1},
        {"_retries": True},
        {"_timeout_s": 0},
        {"_deadline": datetime(2030, 1, 1)},
        {"_key": ""},
    ):
        with pytest.raises(ConfigError):
            q.submit(add, 1, **options)
    assert q.count() == 0


def test_an_argument_that_cannot_travel_is_refused_before_anything_is_stored(q):
    with pytest.raises(TypeError):
        q.submit(add, object())
    with pytest.raises(TypeError):
        q.submit_many(add, [1, object()])
    assert q.count() == 0


@pytest.mark.parametrize("timeout", ["1", -1, None, float("nan")])
def test_a_time_limit_that_is_none_is_refused_with_what_can_be_given(q, timeout):
    inv = q.submit(add, 1)
    for ask in (lambda: q.result(inv, timeout=timeout), lambda: q.stream(inv, timeout=timeout)):
        with pytest.raises(ConfigError, match=r"use a number of seconds, 0 or more$"):
            ask()


def test_no_worker_is_a_timeout_error_that_names_the_state(q):
    inv = q.submit(add, 1)
    with pytest.raises(TimeoutError, match=rf"invocation {inv} still 'queued' after 0\.05\s?s"):
        q.result(inv, timeout=0.05)


def test_a_body_that_raised_is_a_dispatch_error_with_its_message(q, work_on, plane):
    work_on(plane, "q", retries=0)
    inv = q.submit(fail, "no disk")
    with pytest.raises(DispatchError, match=f"invocation {inv} failed: ValueError: no disk") as caught:
        q.result(inv)
    assert isinstance(caught.value, InvocationFailedError)
    assert "fail" in caught.value.error.traceback


def test_a_worker_that_cannot_import_the_module_says_so(q, work_on, plane):
    work_on(plane, "q", retries=0)
    arm = {"kind": "ref", "module": "no_such_module_here", "qualname": "f", "src_hash": None}
    inv = "0" * 26
    envelope = wire.Envelope(id=inv, fn=arm, args=wire.pack([]), kwargs=wire.pack({}))
    plane.submit("q", envelope.to_bytes(), id=inv)
    with pytest.raises(DispatchError, match="WorkerError: cannot import module 'no_such_module_here'"):
        q.result(inv)


def test_a_worker_that_refuses_pickled_functions_says_so(q, work_on, plane):
    work_on(plane, "q", retries=0, allow_pickled=False)
    inv = q.submit(lambda: 1)
    with pytest.raises(DispatchError, match="TransportError: this worker refuses pickled functions"):
        q.result(inv)


def test_an_unknown_id_is_a_dispatch_error(q):
    with pytest.raises(DispatchError, match="0000"):
        q.result("0" * 26, timeout=1)
    with pytest.raises(DispatchError, match="0000"):
        list(q.stream("0" * 26, timeout=1))


def test_a_cancelled_invocation_raises_and_counts(q):
    inv = q.submit(add, 1)
    assert (q.cancel(inv), q.cancel(inv)) == (True, False)
    with pytest.raises(InvocationCancelledError):
        q.result(inv)
    assert (q.count(), q.count("cancelled")) == (0, 1)


def test_submit_many_gives_ids_in_order_and_results_come_as_they_complete(q, work_on, plane):
    ids = q.submit_many(add, range(50))
    assert len(set(ids)) == 50
    work_on(plane, "q")
    assert dict(q.results(ids, timeout=30)) == dict(zip(ids, range(50), strict=True))


def test_results_give_errors_in_place_or_raise(q, work_on, plane):
    work_on(plane, "q", retries=0)
    ids = [q.submit(add, 1), q.submit(fail, "bad")]
    found = dict(q.results(ids, timeout=30, on_error="return"))
    assert found[ids[0]] == 1
    assert isinstance(found[ids[1]], InvocationFailedError)
    with pytest.raises(InvocationFailedError):
        list(q.results(ids, timeout=30))
    with pytest.raises(ConfigError):
        q.results(ids, on_error="ignore")


def test_results_that_do_not_come_are_a_timeout_error_that_counts_them(q):
    ids = q.submit_many(add, [1, 2])
    q.cancel(ids[0])
    with pytest.raises(TimeoutError, match=f"1 invocations have not ended after 0.05 s, {ids[1]}"):
        list(q.results(ids, timeout=0.05, on_error="return"))


def test_a_stream_is_resumed_by_its_seq(q, work_on, plane):
    work_on(plane, "q")
    inv = q.submit(count_to, 5)
    pairs = list(q.stream_frames(inv))
    assert [value for _seq, value in pairs] == [0, 1, 2, 3, 4]
    assert list(q.stream(inv, since=pairs[2][0])) == [3, 4]
    assert q.result(inv) is None


def test_report_34_a_stream_that_raised_midway_gives_its_values_and_then_the_error(q, work_on, plane):
    def stream():
        yield 1
        raise OSError("disk")

    work_on(plane, "q", retries=0)
    seen = []
    with pytest.raises(InvocationFailedError, match="OSError: disk"):
        for value in q.stream(q.submit(stream)):
            seen.append(value)  # noqa: PERF402 - what came before the error counts
    assert seen == [1]


def test_a_stream_of_a_cancelled_invocation_says_so(q):
    inv = q.submit(count_to, 3)
    q.cancel(inv)
    with pytest.raises(InvocationCancelledError):
        list(q.stream(inv))


def test_leaving_an_owned_stream_early_cancels_the_invocation(q, work_on, plane):
    def long():
        for n in range(200):
            yield n
            time.sleep(0.005)

    work_on(plane, "q")
    stream = on(q, long)()
    assert next(stream) == 0
    stream.close()
    assert q.count("cancelled") == 1


def test_an_interrupted_plain_call_cancels_the_invocation(q, plane, monkeypatch):
    def interrupted(inv_id, *, timeout=30.0, poll=0.02):
        raise KeyboardInterrupt

    monkeypatch.setattr(plane, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        on(q, add)(1)
    assert q.count("cancelled") == 1


def test_two_threads_can_wait_on_one_plane(q, work_on, plane):
    work_on(plane, "q")
    found = []
    threads = [threading.Thread(target=lambda n=n: found.append(q.call(add, n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == list(range(8))
