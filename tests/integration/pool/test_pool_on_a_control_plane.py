"""``lakeshore up --url``: the pool of a control plane's queue, with real workers, tokens and restarts."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

NO_WAIT = "idleTimeoutSeconds: 0.3, scaleDown: {maxFractionPerStep: 1.0}"
TRANSITIONS = ("scale_up", "scale_down")


def decisions(lake, **options):
    return lake.rest.elasticity_events("q", **options)


def test_from_none_to_some_to_none_and_every_decision_is_written_down(far_lake, wait_for, runs):
    lake = far_lake
    up = lake.up(f"{{kind: max_count, max: 2, {NO_WAIT}}}")
    ids = [lake.submit("nap", 0.2) for _ in range(4)]
    pids = wait_for(lambda: [worker.pid for worker in lake.workers()], "workers to come")
    for inv_id in ids:
        lake.result(inv_id)
    wait_for(lambda: not lake.workers(), "the workers to go")
    wait_for(lambda: not any(runs(pid) for pid in pids), "their processes to end")
    told = [(event["kind"], event["reason"]) for event in up.events if event["kind"] in TRANSITIONS]
    wait_for(lambda: len(decisions(lake)) == len(told), "the decisions to be written down")
    kept = decisions(lake)[::-1]
    assert [(event["kind"], event["reason"]) for event in kept] == told
    assert kept[0]["kind"] == "scale_up"
    assert kept[0]["before"]["workers"] == 0
    assert kept[0]["after"]["desired"] >= 1
    assert kept[-1]["kind"] == "scale_down"
    quiet = [event for event in decisions(lake, verbose=True) if event["kind"] == "tick_noop"]
    assert len(quiet) <= 1


def test_a_submit_to_a_sleeping_pool_starts_a_worker_at_once(far_lake, wait_for, record_property):
    lake = far_lake
    up = lake.up(f"{{kind: max_count, max: 1, {NO_WAIT}}}")
    lags = []
    for turn in range(3):
        begun = len(up.events)
        submitted = lake.plane.now()
        inv_id = lake.submit("quick", turn)
        (event,) = wait_for(
            lambda begun=begun: up.said("queued", "scale_up", begun), "a worker to be ordered"
        )
        lags.append(event["at"] - submitted)
        assert lake.result(inv_id) == turn
        wait_for(lambda: not lake.workers(), "the worker to go")
    record_property("submit_to_worker_ordered_s", [round(lag, 3) for lag in lags])
    assert min(lags) < 0.25


def test_no_list_of_processes_shows_the_token(far_lake, wait_for):
    lake = far_lake
    up = lake.up("{kind: fixed, replicas: 1}")
    (worker,) = wait_for(lambda: lake.workers("active"), "the worker")
    for pid in (up.process.pid, worker.pid):
        assert b"dlk_" not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_token_on_the_command_line_reaches_the_workers_by_their_environment(far_lake, wait_for):
    lake = far_lake
    token, url = lake.env.pop("LAKESHORE_CLIENT_TOKEN"), lake.env.pop("LAKESHORE_URL")
    lake.up("{kind: fixed, replicas: 1}", "--url", url, "--token", token)
    (worker,) = wait_for(lambda: lake.workers("active"), "the worker")
    assert b"dlk_" not in Path(f"/proc/{worker.pid}/cmdline").read_bytes()


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_pool_outlives_its_control_plane(far_lake, replica, wait_for, runs, tmp_path, how):
    lake = far_lake
    flag = tmp_path / "flag"
    up = lake.up(f"{{kind: max_count, max: 1, {NO_WAIT}}}", "--lease", "20")
    long = lake.submit("until", str(flag))
    pid = lake.running(flag)
    if how == "kill":
        replica.kill()
        assert "the plane does not answer, trying again" in up.process.stderr.readline()
        replica.start()
    else:
        replica.restart()
    flag.write_text("")
    assert lake.result(long) == "done"
    assert int((tmp_path / "flag.running").read_text()) == pid
    row = lake.plane.get(long)
    assert (row["attempt"], row["crashes"]) == (1, 0)
    wait_for(lambda: not lake.workers(), "the worker to go")
    begun = len(up.events)
    assert lake.result(lake.submit("quick", 7)) == 7
    assert up.said("queued", "scale_up", begun)
    assert up.process.poll() is None


def test_ctrl_c_ends_a_pool_whose_control_plane_is_away(far_lake, replica, wait_for, runs):
    lake = far_lake
    up = lake.up("{kind: fixed, replicas: 1}")
    (worker,) = wait_for(lambda: lake.workers("active"), "the worker")
    replica.kill()
    up.interrupt()
    said = up.end()
    assert up.process.returncode == 0
    assert "Traceback" not in said
    wait_for(lambda: not runs(worker.pid), "the worker to end")
    replica.start()


def test_ctrl_c_drains_by_name_and_the_running_job_ends(far_lake, wait_for, tmp_path):
    lake = far_lake
    flag = tmp_path / "flag"
    up = lake.up("{kind: max_count, max: 1}")
    running = lake.submit("until", str(flag))
    lake.running(flag)
    waiting = lake.submit("quick", 1)
    up.interrupt()
    wait_for(lambda: lake.workers("draining"), "the worker to drain")
    flag.write_text("")
    assert up.end() == ""
    assert lake.result(running) == "done"
    assert lake.plane.get(waiting)["state"] == "queued"
    assert lake.workers() == []


def test_a_worker_that_is_drained_on_the_control_plane_is_replaced(far_lake, wait_for, runs):
    lake = far_lake
    up = lake.up("{kind: fixed, replicas: 1}")
    (old,) = wait_for(lambda: lake.workers("active"), "the worker")
    lake.rest.order_worker(old.id, "drain")
    wait_for(lambda: not runs(old.pid), "the worker to go")
    wait_for(lambda: [w for w in lake.workers("active") if w.id != old.id], "another one")
    assert up.said("failed") == []


def test_a_killed_worker_is_replaced_and_its_job_done(far_lake, wait_for, tmp_path):
    lake = far_lake
    flag = tmp_path / "flag"
    lake.up("{kind: fixed, replicas: 1}", "--lease", "1")
    job = lake.submit("until", str(flag))
    lake.running(flag)
    (old,) = lake.workers()
    os.kill(old.pid, signal.SIGKILL)
    wait_for(lambda: [w for w in lake.workers("active") if w.id != old.id], "another worker")
    flag.write_text("")
    assert lake.result(job) == "done"
    assert lake.plane.get(job)["attempt"] == 2
    assert old.id not in {worker.id for worker in lake.workers()}


def test_a_paused_queue_sends_its_workers_away_at_once(far_lake, wait_for):
    lake = far_lake
    up = lake.up("{kind: fixed, replicas: 1}")
    wait_for(lambda: lake.workers("active"), "the worker")
    lake.plane.set_queue_state("q", "paused")
    wait_for(lambda: up.said("the queue is paused", "scale_down"), "the reason")
    wait_for(lambda: not lake.workers(), "the worker to go")
    lake.plane.set_queue_state("q", "active")
    wait_for(lambda: lake.workers("active"), "a worker to come back")


def test_a_token_that_may_write_no_decisions_still_runs_a_pool(far_lake, wait_for):
    lake = far_lake
    made = lake.rest.add_token("pool", ["producer", "worker"])
    lake.env["LAKESHORE_CLIENT_TOKEN"] = made["token"]
    up = lake.up(f"{{kind: max_count, max: 1, {NO_WAIT}}}")
    assert lake.result(lake.submit("quick", 1)) == 1
    wait_for(lambda: not lake.workers(), "the worker to go")
    up.interrupt()
    (line,) = up.end().splitlines()
    assert "decisions are not written down for now" in line
    assert "operator" in line
    assert decisions(lake, verbose=True) == []


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"LAKESHORE_CLIENT_TOKEN": "dlk_of-nobody-at-all-xx"}, "refuses the token"),
        ({"LAKESHORE_NAMESPACE": "nowhere"}, "there is no namespace 'nowhere'"),
        ({"LAKESHORE_URL": "http://127.0.0.1:9"}, "no control plane answers at http://127.0.0.1:9"),
    ],
)
def test_a_pool_that_cannot_begin_says_why_in_one_line(far_lake, env, said):
    lake = far_lake
    ran = subprocess.run(
        lake.command("{kind: fixed, replicas: 1}"),
        env={**lake.env, **env},
        cwd=lake.project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("lakeshore: ")
    assert said in line
