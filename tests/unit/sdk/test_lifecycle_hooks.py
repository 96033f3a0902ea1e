"""lifecycle: what runs once per host, once per process, and at the end."""

import subprocess
import sys

import pytest

from dreamlake.lakeshore import lifecycle
from dreamlake.lakeshore.errors import ConfigError, WorkerError


@pytest.fixture(autouse=True)
def no_hooks_left_behind():
    yield
    lifecycle.run_shutdown_hooks()
    lifecycle._host_setup.clear()
    lifecycle._run_setup.clear()
    lifecycle.set_phase("setup")


def test_a_host_hook_runs_once_per_key_and_home(tmp_path):
    ran = []
    for key in ("a", "a", "b"):
        lifecycle.on_host_setup(key=key)(lambda key=key: ran.append(key))
        lifecycle.run_setup_hooks(tmp_path)
    assert ran == ["a", "b"]
    lifecycle.on_host_setup(key="a")(lambda: ran.append("other home"))
    lifecycle.run_setup_hooks(tmp_path / "other")
    assert ran == ["a", "b", "other home"]


def test_a_host_hook_that_failed_is_not_marked_and_is_tried_again(tmp_path):
    attempts = []

    @lifecycle.on_host_setup
    def install():
        attempts.append(1)
        if len(attempts) == 1:
            raise RuntimeError("no network")

    with pytest.raises(WorkerError, match=r"host setup hook .*install failed: RuntimeError: no network"):
        lifecycle.run_setup_hooks(tmp_path)
    lifecycle.run_setup_hooks(tmp_path)
    lifecycle.run_setup_hooks(tmp_path)
    assert len(attempts) == 2


def test_processes_that_start_together_run_a_host_hook_once(tmp_path):
    program = f"""
from pathlib import Path
from dreamlake.lakeshore import lifecycle
@lifecycle.on_host_setup(key="shared")
def install():
    with open({str(tmp_path / "log")!r}, "a") as log:
        log.write("ran\\n")
lifecycle.run_setup_hooks(Path({str(tmp_path)!r}))
"""
    started = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [process.wait(60) for process in started] == [0] * 4
    assert (tmp_path / "log").read_text() == "ran\n"


def test_a_run_hook_runs_once_in_a_process_also_when_registered_later(tmp_path):
    ran = []
    lifecycle.on_run_setup(lambda: ran.append("first"))
    lifecycle.run_setup_hooks(tmp_path)
    lifecycle.run_setup_hooks(tmp_path)
    lifecycle.on_run_setup(lambda: ran.append("second"))
    lifecycle.run_setup_hooks(tmp_path)
    assert ran == ["first", "second"]


def test_shutdown_hooks_all_run_in_reverse_order_though_one_fails():
    ran = []
    lifecycle.on_shutdown(lambda: ran.append("first registered"))

    @lifecycle.on_shutdown
    def bad():
        raise RuntimeError("stuck")

    lifecycle.on_shutdown(lambda: ran.append("last registered"))
    errors = lifecycle.run_shutdown_hooks()
    assert ran == ["last registered", "first registered"]
    assert [str(error).split(":")[0] for error in errors] == [
        f"shutdown hook {bad.__module__}.{bad.__qualname__} failed"
    ]


def test_the_phase_is_setup_until_the_worker_says_otherwise():
    assert lifecycle.phase() == "setup"
    lifecycle.set_phase("draining")
    assert lifecycle.phase() == "draining"


@pytest.mark.parametrize("key", ["", "a/b", ".hidden", "x" * 201])
def test_a_key_that_is_no_file_name_is_refused(key):
    with pytest.raises(ConfigError, match="cannot be a file name"):
        lifecycle.on_host_setup(key=key)(lambda: None)


def test_a_home_that_cannot_hold_markers_is_one_clear_error(tmp_path):
    (tmp_path / "home").write_text("a file")
    lifecycle.on_host_setup(key="k")(lambda: None)
    with pytest.raises(ConfigError, match="set LAKESHORE_HOME"):
        lifecycle.run_setup_hooks(tmp_path / "home")
