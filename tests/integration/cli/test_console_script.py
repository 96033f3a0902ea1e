"""What a user sees of the real script: results, exit statuses, pipes, signals, completion."""

import json
import signal
import subprocess
from pathlib import Path

import pytest


def one_line(ran, status):
    assert ran.returncode == status
    (line,) = ran.stderr.splitlines()
    return line


def in_bash(command, env, folder):
    return subprocess.run(
        ["bash", "-c", command], env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def test_submit_and_wait_for_the_result(lakeshore, start):
    start("worker", "start", "--queue", "q")
    ran = lakeshore("submit", "cli_jobs:add", "2", "3", "--queue", "q", "--wait")
    assert (ran.returncode, ran.stdout) == (0, "5\n")
    ran = lakeshore("submit", "cli_jobs:add", "2", "b=3", "--queue", "q", "--wait", "--json")
    assert json.loads(ran.stdout)["result"] == 5
    ran = lakeshore("submit", "cli_jobs:boom", "--queue", "q", "--retries", "0", "--wait")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "failed: ValueError: no good" in ran.stderr


def test_a_worker_that_runs_once_and_what_jobs_say_afterwards(lakeshore):
    inv_id = lakeshore("submit", "cli_jobs:say", "3", "--queue", "q").stdout.strip()
    assert lakeshore("worker", "once", "--queue", "q").returncode == 0
    assert lakeshore("jobs", "result", inv_id).stdout == "3\n"
    assert lakeshore("jobs", "logs", inv_id).stdout == "line 0\nline 1\nline 2\nto stderr\n"
    assert json.loads(lakeshore("jobs", "show", inv_id, "--json").stdout)["state"] == "succeeded"


def test_following_a_log_prints_while_the_job_runs_and_ends_with_it(lakeshore, start):
    inv_id = lakeshore("submit", "cli_jobs:say", "20", "--queue", "q").stdout.strip()
    follower = start("jobs", "logs", inv_id, "--follow")
    start("worker", "start", "--queue", "q")
    first = follower.stdout.readline()
    still_running = json.loads(lakeshore("jobs", "show", inv_id, "--json").stdout)["state"]
    rest, _ = follower.communicate(timeout=30)
    assert first == "line 0\n"
    assert rest.splitlines()[-2:] == ["line 19", "to stderr"]
    assert follower.returncode == 0
    assert still_running in {"running", "succeeded"}


def test_a_reader_that_has_had_enough_is_no_error(lakeshore, plane, env, project):
    for n in range(3000):
        plane.submit("q", b"x", id=f"job-{n}")
    command = "lakeshore jobs list --limit 3000 | head -1; echo ${PIPESTATUS[0]}"
    ran = in_bash(command, env, project)
    head, status = ran.stdout.splitlines()
    assert head.split()[0] == "ID"
    assert (status, ran.stderr) == ("0", "")


def test_a_full_disk_behind_the_output_is_one_line(lakeshore):
    with Path("/dev/full").open("wb", buffering=0) as full:
        ran = lakeshore("queues", "list", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert "No space left on device" in one_line(ran, 2)


def test_a_full_disk_under_the_home_is_one_line(lakeshore, home, env, project):
    """A limit on the size of files stands in for the disk's end."""
    lakeshore("queues", "add", "q")
    command = 'ulimit -f 0; trap "" XFSZ; exec lakeshore submit cli_jobs:add 1 --queue q'
    ran = in_bash(command, env, project)
    assert ran.stdout == ""
    assert one_line(ran, 2).startswith("lakeshore: ")
    assert lakeshore("jobs", "list").stdout == "no jobs\n"


def test_results_that_the_terminals_charset_lacks_are_printed_all_the_same(lakeshore, plane, env):
    from dreamlake.lakeshore import wire

    plane.submit("q", b"x", id="snow")
    plane.claim("q", "w")
    plane.ack("snow", "w", result=wire.pack("\N{SNOWMAN}"))
    ran = lakeshore("jobs", "result", "snow", env={**env, "PYTHONIOENCODING": "latin-1"})
    assert (ran.returncode, ran.stdout) == (0, "\\u2603\n")


@pytest.mark.parametrize(
    "words",
    [
        ("jobs", "result", "waiting", "--timeout", "60"),
        ("jobs", "logs", "waiting", "--follow"),
    ],
)
def test_ctrl_c_while_waiting_is_status_130_without_a_traceback(start, plane, wait_for, words):
    plane.submit("q", b"x", id="waiting")
    process = start(*words)
    wait_for(lambda: "sqlite" in _open_files(process.pid), "the command to wait")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert len(err.splitlines()) <= 1


def test_ctrl_c_drains_a_worker(start, lakeshore, wait_for, plane):
    process = start("worker", "start", "--queue", "q")
    wait_for(lambda: any(w.state == "active" for w in plane.workers("q")), "the worker to be ready")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert plane.workers("q") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_command(lakeshore, env, shell):
    ran = lakeshore(env={**env, "_LAKESHORE_COMPLETE": f"source_{shell}"})
    assert ran.returncode == 0
    assert "lakeshore" in ran.stdout


def test_completion_knows_commands_and_flags(lakeshore, env):
    def complete(words):
        count = len(words.split(" ")) - 1
        asked = {"_LAKESHORE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
        return lakeshore(env={**env, **asked}).stdout.split()

    assert complete("lakeshore qu") == ["queues"]
    assert set(complete("lakeshore queues ")) >= {"list", "show", "add", "drain", "archive", "unarchive"}
    assert complete("lakeshore jobs list --li") == ["--limit"]


def test_completion_is_installed_for_the_users_shell(env, project, tmp_path):
    assert "complete" in in_bash("lakeshore --show-completion; exit $?", env, project).stdout
    assert in_bash("lakeshore --install-completion; exit $?", env, project).returncode == 0
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert "lakeshore" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()


def _open_files(pid):
    return " ".join(str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink())
