"""A pool with real workers: up with the work, down without it, and never at the cost of a running job."""

import os
import signal

import pytest

NO_WAIT = "idleTimeoutSeconds: 0.3, scaleDown: {maxFractionPerStep: 1.0}"


def test_from_none_to_some_to_none_again_and_again(lake, wait_for, runs):
    up = lake.up(f"{{kind: max_count, max: 3, {NO_WAIT}}}")
    for _ in range(3):
        assert lake.workers() == []
        begun = len(up.events)
        ids = [lake.submit("nap", 0.2) for _ in range(6)]
        pids = wait_for(lambda: [worker.pid for worker in lake.workers()], "workers to come")
        for inv_id in ids:
            lake.result(inv_id)
        assert lake.plane.count("q") == 0
        wait_for(lambda: not lake.workers(), "the workers to go")
        wait_for(lambda pids=pids: not any(runs(pid) for pid in pids), "their processes to end")
        kinds = [event["kind"] for event in up.events[begun:]]
        assert kinds[0] == "scale_up"
        assert "scale_down" in kinds
        assert all(event["after"]["desired"] <= 3 for event in up.events)


def test_none_to_two_to_none_a_hundred_times_loses_nothing_and_leaves_nothing(lake, wait_for, runs):
    up = lake.up("{kind: max_count, max: 2, idleTimeoutSeconds: 0, scaleDown: {maxFractionPerStep: 1.0}}")
    ids, pids = [], set()
    for turn in range(100):
        mine = [lake.submit("quick", turn) for _ in range(2)]
        pids |= {worker.pid for worker in wait_for(lake.workers, "a worker to come")}
        assert [lake.result(inv_id) for inv_id in mine] == [turn, turn]
        wait_for(lambda: not lake.workers(), "the workers to go")
        ids += mine
    rows = [lake.plane.get(inv_id) for inv_id in ids]
    assert {(row["state"], row["attempt"], row["crashes"]) for row in rows} == {("succeeded", 1, 0)}
    assert all(event["after"]["desired"] <= 2 for event in up.events)
    wait_for(lambda: not any(runs(pid) for pid in pids), "their processes to end")


def test_report_16_twenty_jobs_then_ten_more(lake, wait_for):
    up = lake.up(f"{{kind: max_count, max: 4, {NO_WAIT}}}")
    for count in (20, 10):
        begun = len(up.events)
        ids = [lake.submit("quick", n) for n in range(count)]
        assert [lake.result(inv_id) for inv_id in ids] == list(range(count))
        wait_for(lambda begun=begun: up.said("queued", "scale_up", begun), "workers to rise")
        wait_for(lambda: not lake.workers(), "the workers to go")


def test_a_busy_worker_stays_while_the_others_go(lake, wait_for, tmp_path):
    flag = tmp_path / "flag"
    up = lake.up(f"{{kind: max_count, max: 3, {NO_WAIT}}}")
    long = lake.submit("until", str(flag))
    pid = lake.running(flag)
    for inv_id in [lake.submit("nap", 0.2) for _ in range(4)]:
        lake.result(inv_id)
    wait_for(lambda: up.said("idle, drained", "scale_down"), "idle workers to be drained")
    wait_for(lambda: [worker.leased for worker in lake.workers()] == [1], "the busy one to be alone")
    flag.write_text("")
    assert lake.result(long) == "done"
    row = lake.plane.get(long)
    assert (row["attempt"], row["crashes"]) == (1, 0)
    assert int((tmp_path / "flag.running").read_text()) == pid
    wait_for(lambda: not lake.workers(), "the last worker to go")


def test_a_killed_worker_is_replaced_its_record_removed_and_its_job_done(lake, wait_for, tmp_path):
    flag = tmp_path / "flag"
    lake.up("{kind: fixed, replicas: 1}", "--lease", "1")
    job = lake.submit("until", str(flag))
    lake.running(flag)
    (old,) = lake.workers()
    os.kill(old.pid, signal.SIGKILL)
    (new,) = wait_for(
        lambda: [worker for worker in lake.workers("active") if worker.id != old.id], "another worker"
    )
    assert new.pid != old.pid
    assert old.id not in {worker.id for worker in lake.workers()}
    flag.write_text("")
    assert lake.result(job) == "done"
    assert lake.plane.get(job)["attempt"] == 2


def test_workers_that_cannot_start_are_tried_seldom_and_the_reason_is_said(lake, wait_for, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    up = lake.up("{kind: max_count, max: 3}", "--root", root)
    root.rmdir()
    lake.submit("quick", 1)
    (event,) = wait_for(lambda: up.said("failed, trying again in"), "the failure to be told")
    assert f"root {root} is not a directory" in event["reason"]
    assert event["after"]["started"] == 0
    assert len(up.said("", "scale_up")) == 1


def test_fixed_keeps_its_number_without_work(lake, wait_for):
    lake.up("{kind: fixed, replicas: 2}")
    wait_for(lambda: len(lake.workers("active")) == 2, "two workers")


def test_a_pool_with_a_threshold_keeps_one_warm_bursts_and_comes_back(lake, wait_for):
    up = lake.up(f"{{kind: pool_with_threshold, warm: 1, threshold: 2, max: 3, {NO_WAIT}}}")
    wait_for(lambda: len(lake.workers("active")) == 1, "the warm worker")
    ids = [lake.submit("nap", 0.3) for _ in range(8)]
    wait_for(lambda: up.said("bursting to", "scale_up"), "the burst")
    for inv_id in ids:
        lake.result(inv_id)
    wait_for(lambda: len(lake.workers()) == 1, "the burst to end")


def test_fully_elastic_gives_each_job_a_slot(lake, wait_for, tmp_path):
    flag = tmp_path / "flag"
    lake.up(f"{{kind: fully_elastic, cap: 5, {NO_WAIT}}}", worker="{concurrency: 2}")
    ids = [lake.submit("until", str(flag)) for _ in range(4)]
    wait_for(lambda: lake.plane.signals("q").leased == 4, "all to run at once")
    assert len(lake.workers()) == 2
    flag.write_text("")
    for inv_id in ids:
        lake.result(inv_id)
    wait_for(lambda: not lake.workers(), "the workers to go")


@pytest.mark.parametrize("verb", ["paused", "archived"])
def test_a_closed_queue_sends_its_workers_away_and_an_open_one_calls_them_back(lake, wait_for, verb):
    up = lake.up("{kind: fixed, replicas: 1}")
    wait_for(lambda: lake.workers("active"), "the worker")
    lake.plane.set_queue_state("q", verb)
    wait_for(lambda: up.said(f"the queue is {verb}", "scale_down"), "the reason")
    wait_for(lambda: not lake.workers(), "the worker to go")
    lake.plane.set_queue_state("q", "active")
    wait_for(lambda: lake.workers("active"), "a worker to come back")


def test_two_queues_of_one_file_scale_apart(lake, wait_for):
    files = [lake.queue_file(f"{{kind: max_count, max: 1, {NO_WAIT}}}", name=name) for name in ("one", "two")]
    both = lake.folder / "both.yaml"
    both.write_text("---\n".join(file.read_text() for file in files))
    up = lake.up("{kind: fixed, replicas: 0}", "-f", both)
    lake.result(lake.submit("quick", 1, name="two"), name="two")
    assert {event["queue"] for event in up.events if event["kind"] == "scale_up"} == {"two"}


def test_how_soon_a_submit_starts_a_worker_is_in_the_events(lake, wait_for, record_property):
    up = lake.up(f"{{kind: max_count, max: 1, {NO_WAIT}}}")
    submitted = lake.plane.now()
    inv_id = lake.submit("quick", 1)
    (event,) = wait_for(lambda: up.said("queued", "scale_up"), "the worker to be ordered")
    assert event["before"] == {"queued": 1, "leased": 0, "workers": 0}
    assert event["at"] >= submitted
    record_property("submit_to_worker_started_s", round(event["at"] - submitted, 3))
    assert lake.result(inv_id) == 1
