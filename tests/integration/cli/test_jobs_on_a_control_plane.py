"""The everyday commands with ``--url``: the same words and the same answers as on the local plane."""

import json
import signal
import socket
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = pytest.mark.usefixtures("far")


def one_line(ran, status=2):
    assert (ran.returncode, ran.stdout) == (status, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("lakeshore: ")
    return line.removeprefix("lakeshore: ")


def submitted(lakeshore, *words):
    ran = lakeshore("submit", *words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_submit_waits_for_the_result(lakeshore, start):
    start("worker", "start", "--queue", "waits")
    ran = lakeshore("submit", "cli_jobs:add", "2", "b=3", "--queue", "waits", "--wait")
    assert (ran.returncode, ran.stdout) == (0, "5\n")
    ran = lakeshore("submit", "cli_jobs:add", "2", "--queue", "waits", "--wait", "--json")
    assert json.loads(ran.stdout)["result"] == 2
    ran = lakeshore("submit", "cli_jobs:boom", "--queue", "waits", "--retries", "0", "--wait")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "failed: ValueError: no good" in ran.stderr


def test_submit_prints_the_values_of_a_generator_as_they_come(lakeshore, start):
    start("worker", "start", "--queue", "streams")
    waiting = start("submit", "cli_jobs:drip", "40", "--queue", "streams", "--wait")
    assert waiting.stdout.readline() == "{'at': 0}\n"
    (row,) = json.loads(lakeshore("jobs", "list", "--queue", "streams", "--json").stdout)
    assert row["state"] == "running"
    rest, err = waiting.communicate(timeout=30)
    assert (waiting.returncode, len(err.splitlines())) == (0, 1)
    assert [line for line in rest.splitlines() if "at" in line][-1] == "{'at': 39}"
    ran = lakeshore("submit", "cli_jobs:drip", "2", "--queue", "streams", "--wait", "--json")
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["value"] for line in lines if "value" in line] == [{"at": 0}, {"at": 1}]


def test_ctrl_c_cancels_the_job_that_only_this_command_waits_for(lakeshore, start, far, wait_for):
    start("worker", "start", "--queue", "ended")
    waiting = start("submit", "cli_jobs:nap", "60", "--queue", "ended", "--wait")
    (row,) = wait_for(lambda: far.plane.invocations(queue="ended", state="running"), "the job to run")
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=20)
    assert (waiting.returncode, out) == (130, "")
    assert err.splitlines()[-1] == f"{row['id']} is cancelled"
    assert far.plane.get(row["id"])["state"] == "cancelled"


def test_ctrl_c_leaves_a_job_with_a_key_to_the_others_that_may_wait_for_it(start, far, wait_for):
    waiting = start("submit", "cli_jobs:nap", "60", "--queue", "kept", "--key", "k", "--wait")
    (row,) = wait_for(lambda: far.plane.invocations(queue="kept"), "the job")
    wait_for(lambda: "submitted" in waiting.stderr.readline(), "the command to wait")
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=20)
    assert waiting.returncode == 130
    assert far.plane.get(row["id"])["state"] == "queued"


def test_a_worker_that_runs_once_and_what_jobs_say_afterwards(lakeshore):
    inv_id = submitted(lakeshore, "cli_jobs:say", "3", "--queue", "once")
    ran = lakeshore("worker", "once", "--queue", "once")
    assert ran.returncode == 0, ran.stderr
    assert lakeshore("jobs", "result", inv_id).stdout == "3\n"
    assert lakeshore("jobs", "logs", inv_id).stdout == "line 0\nline 1\nline 2\nto stderr\n"
    shown = lakeshore("jobs", "show", inv_id).stdout
    for name in ("submitted_at", "started_at", "finished_at"):
        (line,) = [line for line in shown.splitlines() if line.startswith(name)]
        assert line.endswith(" ago")
    assert f"root           {inv_id}" in shown


def test_following_a_log_prints_while_the_job_runs_and_ends_with_it(lakeshore, start):
    inv_id = submitted(lakeshore, "cli_jobs:say", "20", "--queue", "logs")
    follower = start("jobs", "logs", inv_id, "--follow")
    start("worker", "start", "--queue", "logs")
    assert follower.stdout.readline() == "line 0\n"
    rest, _ = follower.communicate(timeout=30)
    assert rest.splitlines()[-2:] == ["line 19", "to stderr"]
    assert follower.returncode == 0


def test_a_failed_job_is_shown_with_its_error_and_its_parent(lakeshore, far):
    far.plane.submit("family", b"x", id="01-parent")
    far.plane.submit("family", b"x", id="01-child", parent="01-parent")
    claims = [far.plane.claim("family", "w"), far.plane.claim("family", "w")]
    error = {"type": "ValueError", "message": "no good", "traceback": "Traceback:\n  here"}
    far.plane.nack("01-child", "w", error=error, retry=False, attempt=claims[1].attempt)
    shown = lakeshore("jobs", "show", "01-child").stdout.splitlines()
    assert "parent         01-parent" in shown
    assert "root           01-parent" in shown
    assert "error          ValueError: no good" in shown
    assert "    here" in shown
    (line,) = lakeshore("jobs", "list", "--queue", "family", "--state", "failed").stdout.splitlines()[1:]
    assert line.startswith("01-child")
    far.plane.release(["01-parent"], "w")


def test_jobs_are_killed_and_purged(lakeshore, far):
    inv_id = submitted(lakeshore, "cli_jobs:nap", "60", "--queue", "killed", "--delay", "3600")
    assert lakeshore("jobs", "kill", inv_id).stdout == f"{inv_id} cancelled\n"
    ran = lakeshore("jobs", "kill", inv_id)
    assert (ran.returncode, ran.stdout) == (1, f"{inv_id} had already cancelled\n")
    ran = lakeshore("jobs", "purge", "--older-than", "0s", "--json")
    assert json.loads(ran.stdout)["purged"] >= 1
    assert "there is no invocation" in one_line(lakeshore("jobs", "show", inv_id))


def test_queues_are_declared_moved_and_shown(lakeshore, far):
    assert (
        lakeshore("queues", "add", "moved", "--kind", "priority").stdout
        == "queue moved is active (priority)\n"
    )
    for verb, state in (
        ("drain", "draining"),
        ("pause", "paused"),
        ("archive", "archived"),
        ("resume", "active"),
    ):
        assert lakeshore("queues", verb, "moved").stdout == f"queue moved is {state} (priority)\n"
    far.plane.submit("moved", b"x", id="waits")
    assert "1 queued, 0 running" in lakeshore("queues", "show", "moved").stdout
    rows = {row["name"]: row for row in json.loads(lakeshore("queues", "list", "--json").stdout)}
    assert rows["moved"]["queued"] == 1
    assert "did you mean moved?" in one_line(lakeshore("queues", "pause", "movd"))


def test_a_result_that_does_not_come_is_status_1(lakeshore):
    inv_id = submitted(lakeshore, "cli_jobs:add", "1", "--queue", "lonely")
    ran = lakeshore("jobs", "result", inv_id, "--timeout", "0.2")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "queued" in ran.stderr


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


EVERYDAY = [
    ("jobs", "list"),
    ("queues", "list"),
    ("queues", "events", "q"),
    ("workers", "list"),
    ("tokens", "list"),
    ("namespaces", "list"),
    ("submit", "cli_jobs:add", "1", "--queue", "q"),
]
in_words = pytest.mark.parametrize("words", EVERYDAY, ids=" ".join)


@in_words
def test_a_wrong_token_is_one_line_that_does_not_repeat_it(inside, env, words):
    env["LAKESHORE_CLIENT_TOKEN"] = "dlk_of-nobody-at-all-at-all"
    line = one_line(inside(*words))
    assert "refuses the token" in line
    assert "LAKESHORE_CLIENT_TOKEN" in line
    assert "of-nobody" not in line


@in_words
def test_a_control_plane_that_is_away_is_one_line(inside, env, words):
    with socket.create_server(("127.0.0.1", 0)) as server:
        env["LAKESHORE_URL"] = f"http://127.0.0.1:{server.getsockname()[1]}"
    assert f"no control plane answers at {env['LAKESHORE_URL']}" in one_line(inside(*words))


@in_words
def test_a_wrong_namespace_is_one_line(inside, words):
    if words[0] == "namespaces":  # they lie in none
        assert inside(*words, "--namespace", "nowhere").returncode == 0
    else:
        assert "there is no namespace 'nowhere'" in one_line(inside(*words, "--namespace", "nowhere"))


@in_words
def test_another_web_server_is_no_control_plane(inside, env, words):
    with ThreadingHTTPServer(("127.0.0.1", 0), _Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        env["LAKESHORE_URL"] = f"http://127.0.0.1:{server.server_port}"
        line = one_line(inside(*words))
        server.shutdown()
        thread.join()
    assert "is no control plane (status" in line
    assert "--url" in line


@pytest.mark.parametrize(
    ("env_of", "said"),
    [
        ({"LAKESHORE_CLIENT_TOKEN": "dlk_of-nobody-at-all-at-all"}, "refuses the token"),
        ({"LAKESHORE_URL": "http://127.0.0.1:9"}, "no control plane answers at http://127.0.0.1:9"),
        ({"LAKESHORE_NAMESPACE": "nowhere"}, "there is no namespace 'nowhere'"),
    ],
)
def test_a_worker_that_cannot_begin_says_why_in_one_line(lakeshore, env, env_of, said):
    env.update(env_of)
    ran = lakeshore("worker", "once", "--queue", "q")
    assert (ran.returncode, ran.stdout) == (1, "")  # as whenever a worker cannot go on
    (line,) = ran.stderr.splitlines()
    assert said in line


def test_a_token_without_the_scope_says_which_it_needs(lakeshore, env, far):
    env["LAKESHORE_CLIENT_TOKEN"] = far.rest.add_token("submits", ["producer"])["token"]
    assert lakeshore("jobs", "list").returncode == 0
    assert "it needs admin" in one_line(lakeshore("tokens", "list"))
