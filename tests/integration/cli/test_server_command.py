"""``lakeshore server``: begins, says what is wrong in one line, and leaves nothing behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from servers.process import find_program

ROOT = Path(__file__).parents[3]


@pytest.fixture
def with_documents(env):
    env["LAKESHORE_SECANTUSD"] = find_program("secantusd-rs", "mongod")


def one_line(ran, status):
    assert ran.returncode == status, ran.stderr
    lines = [line for line in ran.stderr.splitlines() if line.startswith("lakeshore server: ")]
    assert "Traceback" not in ran.stderr
    (line,) = lines
    return line.removeprefix("lakeshore server: ")


def processes_on(folder):
    """Ids of processes whose command line names the folder."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in path.read_bytes():
                found.add(int(path.parent.name))
    return found - {os.getpid()}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_an_embedded_server_serves_and_ends_cleanly_with_its_child(
    start, lakeshore, env, tmp_path, wait_for, with_documents, how
):
    data = tmp_path / "data"
    server = start("server", "--embedded", "--port", "0", "--data", data, stderr=subprocess.DEVNULL)
    url = server.stdout.readline().strip().rpartition(" ")[2]
    assert lakeshore("queues", "add", "q", "--url", url).stdout == "queue q is active (fifo)\n"
    waiting = start("queues", "events", "q", "--follow", "--url", url)
    assert len(processes_on(data)) >= 2
    server.send_signal(how)
    server.wait(20)
    assert server.returncode == 0
    wait_for(lambda: not processes_on(data), "its document server to end")
    assert waiting.wait(30) == 2
    again = start("server", "--embedded", "--port", "0", "--data", data, stderr=subprocess.DEVNULL)
    url = again.stdout.readline().strip().rpartition(" ")[2]
    assert "q  " in lakeshore("queues", "list", "--url", url).stdout


def test_help_shows_its_flags(lakeshore):
    ran = lakeshore("server", "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("usage: lakeshore server")
    assert "--embedded" in ran.stdout


def test_without_a_document_server_it_says_how_to_get_one(lakeshore, env, tmp_path):
    nothing = {**env, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    line = one_line(lakeshore("server", "--embedded", env=nothing), 2)
    assert "no document server found: install mongod, or run `cargo install secantus-mdb" in line


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--prot", "1"], "unrecognized arguments: --prot 1 (see `lakeshore server --help`)"),
        (["--port", "many"], "invalid int value: 'many'"),
        (["--port", "70000"], "LAKESHORE_PORT: Input should be less than or equal to 65535"),
        (["--auth", "nope"], "invalid choice: 'nope'"),
    ],
)
def test_wrong_use_is_one_line(lakeshore, flags, said):
    assert said in one_line(lakeshore("server", *flags), 2)


def test_a_port_that_is_taken(lakeshore):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = one_line(lakeshore("server", "--port", port), 2)
    assert line == f"cannot listen on 127.0.0.1:{port} (Address already in use): choose another --port"


def test_a_document_server_that_is_away(lakeshore, env):
    away = {**env, "LAKESHORE_MONGO_URL": "mongodb://127.0.0.1:9"}
    line = one_line(lakeshore("server", "--port", "0", env=away), 1)
    assert line == "the database does not answer: is LAKESHORE_MONGO_URL right, and does it run?"


def test_a_bootstrap_token_that_is_none_is_not_repeated(lakeshore, env, tmp_path, with_documents):
    wrong = {**env, "LAKESHORE_BOOTSTRAP_TOKEN": "hunter2"}
    flags = ("--embedded", "--auth", "tokens", "--port", "0", "--data", tmp_path / "data")
    ran = lakeshore("server", *flags, env=wrong)
    assert one_line(ran, 2).startswith("LAKESHORE_BOOTSTRAP_TOKEN: use dlk_")
    assert "hunter2" not in ran.stderr
    assert not processes_on(tmp_path / "data")


def test_the_demo_runs_on_a_server_of_its_own(env, tmp_path, with_documents):
    report = tmp_path / "report.html"
    ran = subprocess.run(
        [
            sys.executable,
            ROOT / "examples/census/demo.py",
            "--url",
            "embedded",
            "--files",
            "60",
            "--out",
            report,
        ],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "server: stopped" in ran.stdout
    assert "kept by the control plane" in ran.stdout
    assert "0 -> " in ran.stdout
    assert report.exists()
