"""What a newcomer runs first works: the demo, and the tutorial's program with its worker."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def environment(tmp_path):
    """A home of its own, and nothing of the caller's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKESHORE_")}
    return {**kept, "LAKESHORE_HOME": str(tmp_path / "home")}


def test_the_demo_goes_from_no_worker_to_several_and_back_and_survives_a_kill(tmp_path, environment):
    report = tmp_path / "report.html"
    done = subprocess.run(
        [sys.executable, "examples/census/demo.py", "--files", "80", "--out", str(report)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    workers = re.search(r"workers +0 -> (\d+) -> 0", done.stdout)
    assert workers is not None, done.stdout
    assert int(workers[1]) > 1
    assert "attempt 2 finished" in done.stdout
    page = report.read_text(encoding="utf-8")
    assert "<svg" in page
    assert "scale_up" in page
    assert "scale_down" in page


def test_the_tutorials_program_gets_its_result_from_a_worker(environment):
    worker = subprocess.Popen(
        [sys.executable, "-m", "dreamlake.lakeshore.daemon", "--queue", "hello", "--max-jobs", "1"],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        done = subprocess.run(
            [sys.executable, "examples/hello/hello_udf.py"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"invocation: [0-9A-Z]{26}\nresult: 5\n", done.stdout)
        assert worker.wait(timeout=30) == 0
    finally:
        worker.kill()
        worker.communicate(timeout=30)
