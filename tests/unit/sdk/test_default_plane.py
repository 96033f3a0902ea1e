"""Queues that were given no plane: two processes of one machine share a queue through the home folder."""

import os
import subprocess
import sys

BODIES = """
from dreamlake.lakeshore import udf

@udf(queue="hello")
def add(a: int, b: int | None = None) -> int:
    return a + b  # fails without b
"""
PRODUCER = """
import dreamlake.lakeshore as dls
from bodies import add
inv = add.submit(2, 3)
print(dls.SyncQueue("hello").result(inv, timeout=30.0), list(add.map([1, 2], timeout=30, on_error="return"))[0])
"""
WORKER = """
import dreamlake.lakeshore as dls
print(dls.run_worker(dls.SyncQueue("hello"), retries=0, stop=lambda: dls.SyncQueue("hello").count("failed") == 2))
"""


def start(program, folder, **env):
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "LAKESHORE_HOME": str(folder / "home"), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_submit_in_one_process_and_work_in_another(tmp_path):
    (tmp_path / "bodies.py").write_text(BODIES)
    worker, producer = start(WORKER, tmp_path), start(PRODUCER, tmp_path)
    try:
        out, err = producer.communicate(timeout=60)
        assert (producer.returncode, err) == (0, "")
        # add(1) fails without b: map passes each item as the only argument.
        assert out.startswith("5 ")
        assert "TypeError" in out
        assert worker.communicate(timeout=60)[0].strip() == "3"
    finally:
        for process in (worker, producer):
            process.kill()
            process.communicate()
    assert (tmp_path / "home/dispatch.sqlite").exists()


def test_the_default_plane_is_the_control_plane_of_the_environment(tmp_path):
    program = (
        "from dreamlake.lakeshore.home import default_plane; print(default_plane(), default_plane().local)"
    )
    process = start(
        program,
        tmp_path,
        LAKESHORE_URL="https://control.example/below/",
        LAKESHORE_CLIENT_TOKEN="dlk_secret",
        LAKESHORE_NAMESPACE="team",
    )
    out, err = process.communicate(timeout=60)
    assert (out, err) == ("HttpDispatch('https://control.example/below', namespace='team') False\n", "")


def test_a_control_plane_url_that_cannot_be_one_is_said_clearly(tmp_path):
    program = "import dreamlake.lakeshore as dls; dls.SyncQueue('q').count()"
    process = start(program, tmp_path, LAKESHORE_URL="control.example:8080")
    _out, err = process.communicate(timeout=60)
    assert "ConfigError: control plane URL 'control.example:8080' has no http:// or https:// in front" in err


def test_the_default_plane_and_what_a_body_submits_are_in_the_namespace_asked_for(tmp_path):
    (tmp_path / "nested.py").write_text(
        "from dreamlake.lakeshore import udf\n"
        "@udf(queue='inner')\n"
        "def inner(): return 1\n"
        "@udf(queue='outer')\n"
        "def outer(): return inner.submit()\n"
    )
    submit = (
        "import dreamlake.lakeshore as dls\n"
        "from nested import outer\n"
        "print(dls.SyncQueue('outer').result(outer.submit(), timeout=30.0))\n"
        "print(dls.SyncQueue('inner').count())\n"
    )
    producer = start(submit, tmp_path, LAKESHORE_NAMESPACE="team")
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dreamlake.lakeshore.daemon",
            "--queue",
            "outer",
            "--namespace",
            "team",
            "--max-jobs",
            "1",
        ],
        cwd=tmp_path,
        env={**os.environ, "LAKESHORE_HOME": str(tmp_path / "home")},
        stderr=subprocess.DEVNULL,
    )
    try:
        out, err = producer.communicate(timeout=60)
        assert producer.returncode == 0, err
        assert out.splitlines()[1] == "1"
        assert worker.wait(timeout=30) == 0
    finally:
        for process in (producer, worker):
            process.kill()
            process.wait(timeout=30)
