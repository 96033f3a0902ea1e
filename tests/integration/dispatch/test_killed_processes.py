"""kill -9 at any moment: the file stays whole, what was confirmed stays, nothing runs twice to an end."""

import random
import signal
import sqlite3
import time

import pytest

from dreamlake.lakeshore.dispatch.plane import STATES


@pytest.mark.parametrize("seed", range(3))
def test_kill_9_in_the_middle_of_anything_loses_nothing(plane, path, start, until, seed):
    """Processes are killed at random moments; most of them are inside a transaction, having nothing else to do."""
    rng = random.Random(seed)
    plane.count("q")
    everyone = [start("work", f"w{n}", 20, 0.3) for n in range(3)]
    everyone += [start("produce", f"p{n}", 5000, 40) for n in range(2)]
    until(lambda: all(process.lines("submitted") for process in everyone[3:]), "the producers to start")
    for turn, process in enumerate(rng.sample(everyone, 5)):
        time.sleep(rng.uniform(0.0, 0.15))  # the random moment
        process.kill()
        assert process.process.returncode == -signal.SIGKILL
        if turn == 2:
            everyone.append(start("work", "late", 20, 0.3))

    conn = sqlite3.connect(path)
    assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    conn.close()
    finisher = start("work", "finisher", 500, 30)
    until(
        lambda: plane.count("q") + plane.count("q", "running") == 0,
        "everything that was submitted to end",
    )
    plane.submit("control", b"", id="stop")
    finisher.finish()
    everyone[-1].finish()

    rows = {row["id"]: row for row in plane.invocations(queue="q", limit=1_000_000)}
    submitted = {name for process in everyone for name in process.lines("submitted")}
    assert submitted <= set(rows), "a confirmed submission is missing"
    # Three lost workers in a row are taken for the job's fault; that is an end too.
    assert {row["state"] for row in rows.values()} <= {"succeeded", "failed"}
    acked = [word for process in [*everyone, finisher] for word in process.lines("acked")]
    assert len(acked) == len(set(acked)), "an attempt was acknowledged twice"
    for word in acked:
        name, attempt = word.split(":")
        row = rows[name]
        assert (row["state"], row["attempt"]) == ("succeeded", int(attempt)), "a confirmed end has changed"
    assert sum(plane.count("q", state) for state in STATES) == len(rows)


def test_report_01_the_job_of_a_worker_killed_mid_job_ends_as_attempt_2(plane, start, until):
    plane.submit("q", b"e", id="a")
    victim = start("hold", "victim")
    until(lambda: victim.said("claimed"), "the victim's claim")
    victim.kill()
    killed = time.monotonic()
    until(lambda: plane.next_due("q") == 0.0, "the lease to run out")
    job = plane.claim("q", "other")
    assert time.monotonic() - killed < 0.5 + 2, "taken over within the lease and 2 s"
    assert (job.id, job.attempt) == ("a", 2)
    assert plane.get("a")["error"]["type"] == "WorkerLost"
    plane.ack("a", "other", result=b"r", attempt=2)
    assert plane.result("a") == b"r"


def test_a_worker_frozen_past_its_lease_acks_in_vain(plane, start, until):
    plane.submit("q", b"e", id="a")
    frozen = start("hold", "frozen")
    until(lambda: frozen.said("claimed"), "the worker's claim")
    frozen.process.send_signal(signal.SIGSTOP)
    until(lambda: plane.next_due("q") == 0.0, "the lease to run out")
    plane.claim("q", "other")
    before = plane.get("a")
    frozen.process.send_signal(signal.SIGCONT)
    frozen.process.stdin.write("\n")
    frozen.process.stdin.flush()
    until(lambda: frozen.said("fenced"), "the late acknowledgement to be refused")
    assert plane.get("a") == before
    plane.ack("a", "other", result=b"good", attempt=2)
    assert plane.result("a") == b"good"
