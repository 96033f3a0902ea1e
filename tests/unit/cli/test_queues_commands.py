"""``lakeshore queues``: declare, look, and the lifecycle."""

import socket

import pytest

from dreamlake.lakeshore.dispatch.plane import WorkerRecord
from dreamlake.lakeshore.errors import QueueUnavailableError

LIFECYCLE = [
    ("drain", "draining"),
    ("pause", "paused"),
    ("archive", "archived"),
    ("resume", "active"),
    ("unarchive", "active"),
]


def submit(plane, queue, inv_id, **more):
    plane.submit(queue, b"x", id=inv_id, **more)


def test_no_queues_says_how_one_is_made(lakeshore):
    ran = lakeshore("queues", "list")
    assert (ran.status, ran.err) == (0, "")
    assert "lakeshore queues add NAME" in ran.out
    assert lakeshore("queues", "list", "--json").json == []


def test_add_declares_a_queue_and_changes_its_kind(lakeshore, plane):
    assert lakeshore("queues", "add", "gpu", "--kind", "priority").out == "queue gpu is active (priority)\n"
    ran = lakeshore("queues", "add", "gpu", "--kind", "boltzmann", "--temperature", "0.5", "--json")
    assert ran.json == {"name": "gpu", "kind": "boltzmann", "state": "active", "temperature": 0.5}
    assert plane.queue_record("gpu").kind == "boltzmann"


def test_list_shows_what_waits_and_runs(lakeshore, plane):
    for n in range(3):
        submit(plane, "q", f"id-{n}")
    plane.claim("q", "worker")
    plane.register_worker(
        WorkerRecord("worker", "q", socket.gethostname(), 1, "active", 1, plane.now(), plane.now())
    )
    (row,) = lakeshore("queues", "list", "--json").json
    assert (row["name"], row["queued"], row["running"], row["state"]) == ("q", 2, 1, "active")
    assert [(work["id"], work["leased"]) for work in row["workers"]] == [("worker", 1)]
    head, line = lakeshore("queues", "list").out.splitlines()
    assert head.split() == ["QUEUE", "KIND", "STATE", "QUEUED", "RUNNING", "OLDEST", "WORKERS"]
    cells = line.split()
    assert cells[:5] == ["q", "fifo", "active", "2", "1"]
    assert cells[-1] == "1"


def test_jobs_that_wait_for_their_time_are_counted_as_queued_and_apart(lakeshore, plane):
    from dreamlake.lakeshore.dispatch.plane import RunConfig

    submit(plane, "q", "later", config=RunConfig(delay_s=60))
    (row,) = lakeshore("queues", "list", "--json").json
    assert (row["queued"], row["delayed"]) == (1, 1)


def test_show_counts_jobs_by_state_and_lists_workers(lakeshore, plane):
    for n in range(2):
        submit(plane, "q", f"id-{n}")
    plane.cancel("id-0")
    shown = lakeshore("queues", "show", "q")
    assert "q (fifo, active)" in shown.out
    assert "1 queued, 0 running, 0 succeeded, 0 failed, 1 cancelled" in shown.out
    assert "workers     none" in shown.out
    row = lakeshore("queues", "show", "q", "--json").json
    assert row["jobs"] == {"queued": 1, "running": 0, "succeeded": 0, "failed": 0, "cancelled": 1}
    plane.register_worker(WorkerRecord("w-1", "q", "host", 1, "active", 1, plane.now(), plane.now()))
    assert "w-1" in lakeshore("queues", "show", "q").out


@pytest.mark.parametrize(("verb", "state"), LIFECYCLE)
def test_each_lifecycle_verb_says_the_new_state(lakeshore, plane, verb, state):
    lakeshore("queues", "add", "q")
    assert lakeshore("queues", verb, "q").out == f"queue q is {state} (fifo)\n"
    assert plane.queue_record("q").state == state
    assert lakeshore("queues", verb, "q", "--json").json["state"] == state


@pytest.mark.parametrize("verb", ["drain", "pause", "archive"])
def test_a_closed_queue_takes_no_jobs_starts_none_and_loses_none(lakeshore, plane, verb):
    submit(plane, "q", "early")
    lakeshore("queues", verb, "q")
    with pytest.raises(QueueUnavailableError):
        submit(plane, "q", "late")
    assert plane.claim("q", "worker") is None
    lakeshore("queues", "unarchive", "q")
    assert plane.claim("q", "worker").id == "early"


def test_a_drain_lets_a_running_job_end(lakeshore, plane):
    submit(plane, "q", "running")
    plane.claim("q", "worker")
    lakeshore("queues", "drain", "q")
    plane.ack("running", "worker", result=b"\xc0")
    assert plane.get("running")["state"] == "succeeded"


@pytest.mark.parametrize("verb", ["show", *[verb for verb, _ in LIFECYCLE]])
def test_an_unknown_queue_is_answered_with_the_nearest(lakeshore, verb):
    assert lakeshore("queues", verb, "q").error == "there is no queue 'q': there are none yet"
    lakeshore("queues", "add", "images")
    ran = lakeshore("queues", verb, "imges")
    assert ran.status == 2
    assert ran.error == "there is no queue 'imges': did you mean images?"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--kind", "prioritty"], "--kind prioritty: did you mean priority?"),
        (["--temperature", "0"], "--temperature 0: give a number above 0"),
        (["--temperature", "nan"], "--temperature nan"),
        (["--temperature", "inf"], "--temperature inf"),
        (["--temperature", "hot"], "Invalid value for '--temperature'"),
    ],
)
def test_values_that_cannot_be_are_refused(lakeshore, flags, said):
    ran = lakeshore("queues", "add", "q", *flags)
    assert ran.status == 2
    assert said in ran.error


def test_a_name_that_cannot_be_one_is_refused(lakeshore):
    ran = lakeshore("queues", "add", "a b")
    assert (ran.status, "queue name 'a b'" in ran.error) == (2, True)


def test_namespaces_do_not_see_each_other(lakeshore):
    lakeshore("queues", "add", "q", "--namespace", "one")
    assert [row["name"] for row in lakeshore("queues", "list", "--namespace", "one", "--json").json] == ["q"]
    assert lakeshore("queues", "list", "--json").json == []
