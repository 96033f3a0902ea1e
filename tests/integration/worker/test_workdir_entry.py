"""``python -m dreamlake.lakeshore.daemon.entry``: args.msgpack in, result.msgpack (exit 0) or error.json out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import worker_bodies as bodies

import dreamlake.lakeshore as dls
from dreamlake.lakeshore import wire
from dreamlake.lakeshore.function.enveloping import envelope_of


class Workdir:
    def __init__(self, path):
        self.path = path / "01INVOCATION"
        self.path.mkdir()
        self.home = path / "home"

    def give(self, fn, *args, **kwargs):
        if isinstance(fn, dls.Thunk):
            args, kwargs = fn.args, fn.kwargs
        envelope = envelope_of(fn, args, kwargs, inv_id=dls.invocation_id.new_id(), key=None)
        self.path.joinpath("args.msgpack").write_bytes(envelope.to_bytes())

    def run(self, **env):
        done = subprocess.run(
            [sys.executable, "-m", "dreamlake.lakeshore.daemon.entry"],
            cwd=self.path,
            env={
                **os.environ,
                "LAKESHORE_HOME": str(self.home),
                "PYTHONPATH": str(Path(bodies.__file__).parent),
                **env,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.said = done.stdout + done.stderr
        return done.returncode

    def names(self):
        return sorted(path.name for path in self.path.iterdir())

    def result(self):
        return wire.unpack(self.path.joinpath("result.msgpack").read_bytes())

    def error(self):
        return json.loads(self.path.joinpath("error.json").read_text())


@pytest.fixture
def workdir(tmp_path):
    return Workdir(tmp_path)


def test_success_leaves_the_packed_return_value_and_exits_0(workdir):
    workdir.give(bodies.add, (1, "a"), (2, None))
    assert workdir.run() == 0, workdir.said
    assert workdir.result() == (1, "a", 2, None)
    assert workdir.names() == ["args.msgpack", "result.msgpack"]


def test_failure_leaves_type_message_and_traceback_and_exits_otherwise(workdir):
    workdir.give(bodies.raise_odd)
    assert workdir.run() == 1
    error = workdir.error()
    assert set(error) == {"type", "message", "traceback"}
    assert (error["type"], error["message"]) == ("OddError", "code 7: wrong wheel")
    assert "raise_odd" in error["traceback"]
    assert workdir.names() == ["args.msgpack", "error.json"]
    assert "OddError: code 7: wrong wheel" in workdir.said


def test_body_that_exits_with_0_has_failed(workdir):
    workdir.give(bodies.raise_system_exit)
    assert workdir.run() == 1
    assert workdir.error()["type"] == "SystemExit"


def test_async_body_and_streams_leave_what_they_return_and_yield(workdir):
    workdir.give(bodies.async_add, 2, 3)
    assert workdir.run() == 0
    assert workdir.result() == 5
    workdir.give(bodies.stream, 3)
    assert workdir.run() == 0
    assert workdir.result() == [0, 1, 2]
    workdir.give(bodies.async_stream, 3)
    assert workdir.run() == 0
    assert workdir.result() == [0, 1, 4]


def test_pickled_function_is_refused_unless_allowed(workdir):
    workdir.give(dls.thunk(lambda: 42))
    assert workdir.run() == 1
    assert workdir.error()["type"] == "TransportError"
    assert workdir.run(LAKESHORE_ALLOW_PICKLED="0") == 1
    assert workdir.run(LAKESHORE_ALLOW_PICKLED="1") == 0
    assert workdir.result() == 42
    assert workdir.names() == ["args.msgpack", "result.msgpack"], "the earlier failure is still there"


def test_failure_after_a_success_in_the_same_place_leaves_no_result(workdir):
    workdir.give(bodies.add, 1, 2)
    assert workdir.run() == 0
    workdir.give(bodies.raise_mute)
    assert workdir.run() == 1
    assert workdir.names() == ["args.msgpack", "error.json"]


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93\x01\x02\x03", os.urandom(64)])
def test_bytes_that_are_no_envelope_are_an_error_not_a_crash(workdir, data):
    workdir.path.joinpath("args.msgpack").write_bytes(data)
    assert workdir.run() == 1
    assert workdir.error()["type"]
    assert "Traceback" not in workdir.said


def test_missing_arguments_are_named(workdir):
    assert workdir.run() == 1
    assert workdir.error()["type"] == "FileNotFoundError"
    assert "args.msgpack" in workdir.error()["message"]


def test_keys_are_read_below_the_root_given_or_the_workdir(workdir, tmp_path):
    workdir.path.joinpath("key").write_text("in the workdir")
    workdir.give(bodies.read_key, "key")
    assert workdir.run() == 0
    assert workdir.result() == "in the workdir"
    root = tmp_path / "root"
    root.mkdir()
    root.joinpath("key").write_text("in the root")
    assert workdir.run(LAKESHORE_ROOT=str(root)) == 0
    assert workdir.result() == "in the root"


def test_result_appears_whole_or_not_at_all(workdir):
    """With no room for the result, nothing half-written is left under its name."""
    workdir.give(bodies.big_result, 300_000)
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "from dreamlake.lakeshore.daemon.entry import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=workdir.path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(bodies.__file__).parent),
            "LAKESHORE_HOME": str(workdir.home),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert workdir.names() == ["args.msgpack", "error.json"]
    assert workdir.error()["type"] == "OSError"
    assert "Traceback" not in done.stderr


def test_body_that_kills_its_process_ends_with_another_status(workdir):
    workdir.give(bodies.exit_with, 3)
    assert workdir.run() == 3
    assert workdir.names() == ["args.msgpack"]
