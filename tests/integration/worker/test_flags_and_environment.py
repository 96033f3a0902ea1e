"""Flags win, the environment fills the gaps, a mistake is one line and exit status 2, health pages tell the truth."""

import json
import re
import signal
import urllib.error
import urllib.request

import pytest
import worker_bodies as bodies

import dreamlake.lakeshore as dls


def refused(site, *flags, env=None):
    """Start a worker that must not start; the one line that it says."""
    worker = site.launch(*flags, env=env)
    assert worker.wait() == 2
    (line,) = worker.output().splitlines()
    assert line.startswith("lakeshore worker: ")
    return line


def test_unknown_flag_is_one_line_with_the_nearest_one(site):
    line = refused(site, "--quue", "gpu")
    assert "unknown flag --quue" in line
    assert "--queue" in line


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--concurrency", "many"], "invalid int value: 'many'"),
        (["--concurrency", "0"], "--concurrency is between 1 and 1024"),
        (["--retries", "-1"], "retries is 0 or more"),
        (["--lease", "0.01"], "the lease is at least 0.2 seconds"),
        (["--runtime-policy", "loose"], "strict, minor, off"),
        (["--root", "/nowhere/at/all"], "create it or give another --root"),
        (["--tags", "a,b c"], "tag 'b c'"),
        (["--max-jobs", "0"], "--max-jobs is 1 or more"),
        (["--idle-exit", "-1"], "--idle-exit is 0 or more seconds"),
        (["--drain-timeout", "-1"], "--drain-timeout is 0 or more seconds"),
        (["--health-port", "70000"], "--health-port is a TCP port"),
        (["--queue", "not a name"], "not a name"),
        (["--namespace", ""], "namespace"),
        (["--url", "cp.example.com"], "no http:// or https:// in front"),
        (["--url", "http://cp.example.com", "--token", "two words"], "characters that no token has"),
        (["stray"], "stray"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_value_that_cannot_work_is_one_line_with_what_can(site, flags, words):
    assert words in refused(site, *flags)


def test_environment_that_cannot_work_is_one_line(site):
    assert "no http:// or https:// in front" in refused(site, env={"LAKESHORE_URL": "cp.example.com"})
    assert "strict, minor, off" in refused(site, env={"LAKESHORE_RUNTIME_POLICY": "loose"})
    file = site.path / "a-file"
    file.write_text("")
    assert "set LAKESHORE_HOME" in refused(site, env={"LAKESHORE_HOME": str(file / "below")})


def test_help_names_every_flag_and_its_variable(site):
    worker = site.launch("--help")
    assert worker.wait() == 0
    text = worker.output()
    for flag in [
        "--queue",
        "--root",
        "--url",
        "--namespace",
        "--token",
        "--once",
        "--allow-pickled",
        "--runtime-policy",
        "--concurrency",
        "--tags",
        "--drain-timeout",
        "--health-port",
        "--max-jobs",
        "--idle-exit",
        "--in-process",
        "--json",
        "--retries",
        "--lease",
    ]:
        assert flag in text
    for variable in ("QUEUE", "ROOT", "URL", "NAMESPACE", "CLIENT_TOKEN", "RUNTIME_POLICY"):
        assert f"LAKESHORE_{variable}" in text


def test_environment_fills_what_the_flags_leave_open_and_flags_win(site):
    (site.path / "data").mkdir()
    (site.path / "data" / "greeting").write_text("hello from data")
    (site.path / "other").mkdir()
    (site.path / "other" / "greeting").write_text("hello from other")
    tenant = dls.Dispatch(site.home / "dispatch.sqlite", ns="tenant")
    try:
        gpu, cpu = (dls.SyncQueue(name, dispatch=tenant) for name in ("gpu", "cpu"))
        env = {
            "LAKESHORE_QUEUE": "gpu",
            "LAKESHORE_ROOT": str(site.path / "data"),
            "LAKESHORE_NAMESPACE": "tenant",
            "LAKESHORE_CLIENT_TOKEN": "not needed here",
        }
        job = gpu.submit(bodies.read_key, "greeting")
        site.launch("--once", env=env)
        assert gpu.result(job, timeout=15) == "hello from data"
        job = cpu.submit(bodies.read_key, "greeting")
        site.launch("--once", "--queue", "cpu", "--root", site.path / "other", env=env)
        assert cpu.result(job, timeout=15) == "hello from other"
    finally:
        tenant.close()


def test_worker_without_flags_takes_the_default_queue_with_cwd_as_root_and_pickled_functions(site):
    (site.home / "here").write_text("cwd")
    job = site.queue.submit(bodies.read_key, "here")
    pickled = site.queue.submit(dls.thunk(lambda: 41 + 1))
    worker = site.start()
    assert site.queue.result(job, timeout=10) == "cwd"
    assert site.queue.result(pickled, timeout=10) == 42
    (record,) = site.plane.workers()
    assert (record.pid, record.queue, record.concurrency, record.tags) == (worker.pid, "default", 1, ())


def test_tags_and_concurrency_are_on_the_record(site):
    site.start("--tags", "gpu=a100,zone:b", "--concurrency", 2)
    (record,) = site.plane.workers()
    assert (record.tags, record.concurrency) == (("gpu=a100", "zone:b"), 2)


def test_strict_runtime_policy_is_what_the_worker_goes_by(site):
    job = site.queue.submit(bodies.add, 1, 2)
    assert site.launch("--once", env={"LAKESHORE_RUNTIME_POLICY": "strict"}).wait() == 0
    assert site.queue.result(job, timeout=1) == 3


def test_json_gives_log_lines_and_counts_that_can_be_read(site):
    site.queue.submit(bodies.add, 1, 2)
    site.queue.submit(bodies.raise_odd, _retries=0)
    worker = site.launch("--json", "--idle-exit", 0)
    assert worker.wait() == 0
    *logs, counts = [json.loads(line) for line in worker.output().splitlines()]
    assert all({"time", "level", "message", "logger"} <= set(line) for line in logs)
    busy = counts.pop("busy_s")
    assert 0 < busy < 10
    assert counts == {
        "executed": 2,
        "succeeded": 1,
        "failed": 1,
        "crashed": 0,
        "fenced": 0,
        "claimed": 2,
        "released": 0,
    }


def page(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, exc.read().decode()


@pytest.mark.parametrize("flags", [(), ("--in-process",)], ids=["slots", "in process"])
def test_health_pages_and_metrics(site, flags):
    worker = site.start("--health-port", 0, *flags)
    said = site.until(lambda: re.search(r"health page on port (\d+)", worker.output()), "the port is logged")
    port = int(said[1])
    site.until(lambda: page(port, "/readyz") == (200, "ready\n"), "it is ready")
    assert page(port, "/healthz")[0] == 200
    assert site.queue.result(site.queue.submit(bodies.add, 1, 2), timeout=10) == 3
    job = site.queue.submit(bodies.until_released, site.note(), site.note("gate"))
    site.until_lines(1)
    site.until(
        lambda: "lakeshore_worker_jobs_succeeded_total 1.0" in page(port, "/metrics")[1], "the success counts"
    )
    assert "lakeshore_worker_claims_total 2.0" in page(port, "/metrics")[1]
    assert page(port, "/elsewhere")[0] == 404
    worker.send(signal.SIGTERM)
    site.until(lambda: page(port, "/readyz") == (503, "draining\n"), "a draining worker is not ready")
    assert "lakeshore_worker_draining 1.0" in page(port, "/metrics")[1]
    assert page(port, "/healthz")[0] == 200
    site.path.joinpath("gate").touch()
    assert worker.wait() == 0
    assert site.plane.get(job)["state"] == "succeeded"


def test_health_port_that_is_taken_is_one_line(site):
    first = site.start("--health-port", 0)
    port = site.until(lambda: re.search(r"on port (\d+)", first.output()), "the port is logged")[1]
    second = site.launch("--health-port", port)
    assert second.wait() == 2
    assert f"--health-port {port}: cannot listen there" in second.output()
    assert "Traceback" not in second.output()


@pytest.mark.parametrize("flags", [(), ("--in-process",)])
def test_a_worker_says_at_its_end_what_became_of_its_jobs(site, flags):
    worker = site.start("--max-jobs", 2, "--retries", 0, *flags)
    site.queue.submit(bodies.add, 1, 2)
    site.queue.submit(bodies.raise_odd)
    assert worker.wait() == 0
    assert "the worker has ended: 1 jobs succeeded, 1 failed, 0 took their process down" in worker.output()
