"""``lakeshore jobs``: list, show, kill, logs, result."""

import threading

import pytest

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.cli.spans import parse_span
from dreamlake.lakeshore.dispatch.plane import RunConfig
from dreamlake.lakeshore.errors import ErrorInfo
from dreamlake.lakeshore.worker.deliver import log_journal


@pytest.fixture
def jobs(plane):
    """One job of each state, named by it."""
    for state in ("succeeded", "failed", "cancelled", "running", "queued"):
        plane.submit("q", b"x", id=state)
    for _ in range(4):
        plane.claim("q", "worker")
    plane.ack("succeeded", "worker", result=wire.pack({"loss": 0.5, "shape": (2, 3)}))
    plane.nack(
        "failed", "worker", error=ErrorInfo("ValueError", "no\ngood", "Traceback:\n  here"), retry=False
    )
    plane.cancel("cancelled")
    return plane


def test_no_jobs(lakeshore):
    assert lakeshore("jobs", "list").out == "no jobs\n"
    assert lakeshore("jobs", "list", "--json").json == []


def test_list_is_newest_first(lakeshore, jobs):
    head, *lines = lakeshore("jobs", "list").out.splitlines()
    assert head.split() == ["ID", "QUEUE", "STATE", "ATTEMPT", "AGE", "RAN", "ERROR"]
    assert [line.split()[0] for line in lines] == ["queued", "running", "cancelled", "failed", "succeeded"]
    failed = next(line for line in lines if line.startswith("failed"))
    assert failed.endswith("ValueError: no good")
    rows = lakeshore("jobs", "list", "--json").json
    assert [row["id"] for row in rows] == [row["state"] for row in rows]


def test_list_can_be_narrowed(lakeshore, jobs):
    jobs.submit("other", b"x", id="elsewhere")

    def ids(*flags):
        return [row["id"] for row in lakeshore("jobs", "list", "--json", *flags).json]

    assert ids("--queue", "other") == ["elsewhere"]
    assert ids("--state", "failed") == ["failed"]
    assert ids("--limit", "2") == ["elsewhere", "queued"]
    ran = lakeshore("jobs", "list", "--queue", "othr")
    assert (ran.status, ran.error) == (2, "there is no queue 'othr': did you mean other?")
    assert lakeshore("jobs", "list", "--state", "runing").error == "--state runing: did you mean running?"


def test_show_a_failed_job_with_its_traceback(lakeshore, jobs):
    ran = lakeshore("jobs", "show", "failed")
    assert ran.status == 0
    assert "state          failed" in ran.out
    assert "ValueError: no\ngood" in ran.out
    assert "    here" in ran.out
    shown = lakeshore("jobs", "show", "failed", "--json").json
    assert shown["error"] == {"type": "ValueError", "message": "no\ngood", "traceback": "Traceback:\n  here"}


def test_show_says_times_from_now(lakeshore, jobs):
    jobs.submit("q", b"x", id="later", config=RunConfig(delay_s=7200))
    out = lakeshore("jobs", "show", "later").out
    assert "due            2 h from now" in out
    assert "ago" in next(line for line in out.splitlines() if line.startswith("submitted_at"))
    lease = next(
        line
        for line in lakeshore("jobs", "show", "running").out.splitlines()
        if line.startswith("lease_until")
    )
    assert lease.endswith("s from now")


def test_kill_ends_queued_and_running_jobs(lakeshore, jobs):
    ran = lakeshore("jobs", "kill", "queued", "running")
    assert (ran.status, ran.out) == (0, "queued cancelled\nrunning cancelled\n")
    assert {jobs.get(name)["state"] for name in ("queued", "running")} == {"cancelled"}


def test_kill_of_one_that_had_ended_is_status_1_and_changes_nothing(lakeshore, jobs):
    ran = lakeshore("jobs", "kill", "queued", "failed")
    assert (ran.status, ran.out) == (1, "queued cancelled\nfailed had already failed\n")
    ran = lakeshore("jobs", "kill", "succeeded", "--json")
    assert (ran.status, ran.json) == (1, [{"id": "succeeded", "cancelled": False, "state": "succeeded"}])


def test_kill_checks_all_ids_first(lakeshore, jobs):
    assert "there is no invocation nope" in lakeshore("jobs", "kill", "queued", "nope").error
    assert jobs.get("queued")["state"] == "queued"


def test_purge_forgets_what_ended_long_enough_ago_and_nothing_else(lakeshore, jobs):
    assert lakeshore("jobs", "purge", "--older-than", "1h").out == "0 jobs forgotten\n"
    assert jobs.get("succeeded") is not None
    ended = [row["id"] for row in jobs.invocations(limit=100) if row["finished_at"] is not None]
    ran = lakeshore("jobs", "purge", "--older-than", "0s", "--json")
    assert (ran.status, ran.json) == (0, {"purged": len(ended)})
    assert jobs.get("succeeded") is None
    assert jobs.get("queued")["state"] == "queued"
    assert jobs.get("running")["state"] == "running"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5h", 5400), ("15 min", 900), ("2m", 120), ("7d", 604_800), ("1w", 604_800)],
)
def test_spans_are_read_as_people_write_them(text, seconds):
    assert parse_span(text, "--older-than") == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1d", "7 days", "1e3", "d"])
def test_a_span_that_is_none_is_said_with_what_is(lakeshore, text):
    assert "write a span of time such as 90s" in lakeshore("jobs", "purge", f"--older-than={text}").error


def test_the_result_of_a_job_that_succeeded(lakeshore, jobs):
    assert lakeshore("jobs", "result", "succeeded").out == "{'loss': 0.5, 'shape': (2, 3)}\n"
    ran = lakeshore("jobs", "result", "succeeded", "--json")
    assert ran.json == {"id": "succeeded", "result": {"loss": 0.5, "shape": [2, 3]}}


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ("failed", "invocation failed failed: ValueError: no good"),
        ("cancelled", "cancelled"),
        ("queued", "still 'queued'"),
        ("running", "still 'running'"),
    ],
)
def test_a_job_without_a_result_is_status_1_and_one_line(lakeshore, jobs, job, said):
    ran = lakeshore("jobs", "result", job)
    assert ran.status == 1
    assert said in ran.error


def test_result_waits_for_the_end(lakeshore, jobs):
    timer = threading.Timer(0.1, jobs.ack, ("running", "worker"), {"result": wire.pack("done")})
    timer.start()
    ran = lakeshore("jobs", "result", "running", "--timeout", "20")
    timer.join()
    assert (ran.status, ran.out) == (0, "done\n")


@pytest.mark.parametrize("verb", ["show", "kill", "logs", "result"])
def test_an_unknown_job_is_answered_in_one_line(lakeshore, verb):
    ran = lakeshore("jobs", verb, "01NOPE")
    assert ran.status == 2
    assert "no invocation 01NOPE" in ran.error


def test_logs_print_what_there_is(lakeshore, jobs):
    for text in ("one\n", "two ", "\N{SNOWMAN}\n"):
        jobs.journal_append(log_journal("running"), None, text.encode())
    assert lakeshore("jobs", "logs", "running").out == "one\ntwo \N{SNOWMAN}\n"
    lines = lakeshore("jobs", "logs", "running", "--json").out.splitlines()
    assert lines == ['{"text": "one\\n"}', '{"text": "two "}', '{"text": "\N{SNOWMAN}\\n"}']
    assert lakeshore("jobs", "logs", "queued").out == ""


def test_logs_follow_to_the_end_of_the_job(lakeshore, jobs):
    def work():
        jobs.journal_append(log_journal("running"), None, b"more\n")
        jobs.ack("running", "worker", result=wire.pack(None))

    jobs.journal_append(log_journal("running"), None, b"first\n")
    timer = threading.Timer(0.4, work)
    timer.start()
    ran = lakeshore("jobs", "logs", "running", "--follow")
    timer.join()
    assert (ran.status, ran.out) == (0, "first\nmore\n")


def test_following_a_job_that_has_ended_prints_and_ends(lakeshore, jobs):
    jobs.journal_append(log_journal("failed"), None, b"last words\n")
    assert lakeshore("jobs", "logs", "failed", "-f").out == "last words\n"
