"""The tutorial's part about a control plane, and README's three lines, as they stand: server, worker and job."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SECTION = TUTORIAL.partition("## The same program on a control plane\n")[2].partition("\n## ")[0]
SHELL, PROGRAMS = (re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL) for kind in ("sh", "python"))
README = re.findall(r"^LAKESHORE_URL=.*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
USUAL = "http://127.0.0.1:8750"
LIMIT_S = 60


@pytest.fixture
def environment(tmp_path):
    """A home of its own, and nothing of the caller's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKESHORE_")}
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "LAKESHORE_HOME": str(tmp_path / "home"), "LAKESHORE_PUSH_CODE": "off"}


@pytest.fixture
def started(environment):
    """Start a shell command; all are ended after the test, the last one first."""
    running = []

    def start(command, cwd=ROOT):
        running.append(
            subprocess.Popen(
                ["bash", "-ec", command],
                cwd=cwd,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        )
        return running[-1]

    yield start
    for process in reversed(running):
        process.terminate()
        process.wait(LIMIT_S)
        process.stdout.close()


@pytest.fixture
def at(started):
    """Give a documented command with the URL of the embedded server, on a free port."""
    server = started(f"exec {SHELL[0].strip()} --port 0")
    url = re.search(r"http://\S+", server.stdout.readline())[0]
    return lambda command: command.replace(USUAL, url).replace("lakeshore worker", "exec lakeshore worker")


def ran(command, environment, cwd=ROOT):
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tutorials_commands_and_program_run_on_the_embedded_server(started, at, environment):
    server, worker, job = SHELL
    assert server == "lakeshore server --embedded\n"
    started(at(worker))
    assert ran(at(job), environment) == "5\n"
    (program,) = PROGRAMS
    with_url = {**environment, "LAKESHORE_URL": at(USUAL), "PROGRAM": program}
    shown = ran(f'exec {sys.executable} -c "$PROGRAM"', with_url, ROOT / "examples" / "hello")
    assert shown.splitlines() == re.findall(r"# -> (.*)", program)


def test_the_three_lines_of_the_readme_run(started, at, environment):
    hello = ROOT / "examples" / "hello"
    worker, job = README
    started(at(worker), hello)
    assert ran(at(job), environment, hello) == "5\n"
