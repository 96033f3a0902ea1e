"""From the ``fn`` field back to a callable, through the gates."""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import sys

import pytest

from dreamlake.lakeshore.errors import ConfigError, TransportError, WorkerError
from dreamlake.lakeshore.transport import check_runtime, function_arm, resolve, runtime_stamp, src_hash

SOURCE = """
def add(a, b):
    return a + b

def mul(a, b):
    return a * b

NUMBER = 3

class Box:
    class Inner:
        @staticmethod
        def deep():
            return "deep"
"""


class Project:
    """A directory of user code on the import path."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.name = f"project_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
        self.write(SOURCE)

    def write(self, source: str) -> None:
        (self.folder / f"{self.name}.py").write_text(source)

    def ref(self, qualname: str = "add", hashed: str | None = None) -> dict[str, object]:
        return {"kind": "ref", "module": self.name, "qualname": qualname, "src_hash": hashed}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Project(tmp_path)
    yield made
    sys.modules.pop(made.name, None)


@pytest.fixture
def tripwire(tmp_path):
    """A pickle that leaves a trace when it is loaded, and the place to look for the trace."""
    trace = tmp_path / "loaded"

    class Bomb:
        def __reduce__(self):
            return open, (str(trace), "w")

    blob = pickle.dumps(Bomb())
    arm = {
        "kind": "pickle",
        "blob": blob,
        "hash": "sha256:" + hashlib.sha256(blob).hexdigest(),
        "qualname": "bomb",
        "where": "bomb (/x.py:1)",
        "runtime": runtime_stamp(),
    }
    return arm, trace


def test_a_reference_is_imported(project):
    assert resolve(project.ref())(2, 3) == 5
    assert resolve(project.ref("Box.Inner.deep"))() == "deep"


def test_the_same_reference_gives_the_same_callable(project):
    assert resolve(project.ref()) is resolve(project.ref())


def test_a_module_that_cannot_be_imported_says_where_to_start_the_worker():
    arm = {"kind": "ref", "module": "not_here.at_all", "qualname": "topk", "src_hash": None}
    with pytest.raises(
        WorkerError, match=r"^cannot import module 'not_here\.at_all'.*Start the worker in the project"
    ):
        resolve(arm)
    with pytest.raises(WorkerError, match=r"registry=\{'topk': fn\} to run_worker"):
        resolve(arm)


@pytest.mark.parametrize(
    "source", ["import not_here", "1 +", "raise SystemExit(3)", "raise ValueError('no GPU')"]
)
def test_a_module_that_fails_while_imported_is_a_worker_error(project, source):
    project.write(source)
    with pytest.raises(WorkerError, match=r"^cannot import module"):
        resolve(project.ref())


def test_a_module_that_is_written_later_is_found(tmp_path, project):
    name = project.name + "_later"
    arm = {**project.ref(), "module": name}
    with pytest.raises(WorkerError):
        resolve(arm)
    before = tmp_path.stat()
    (tmp_path / f"{name}.py").write_text(SOURCE)
    os.utime(
        tmp_path, ns=(before.st_atime_ns, before.st_mtime_ns)
    )  # as a file system of coarse times shows it
    try:
        assert resolve(arm)(1, 1) == 2
    finally:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("qualname", ["sub", "Box.missing", "make.<locals>.inner", "add.b.c", ""])
def test_a_name_that_the_module_lacks_is_a_worker_error(project, qualname):
    with pytest.raises(WorkerError, match=r"^cannot import module .*it has no"):
        resolve(project.ref(qualname))


def test_a_name_that_is_no_function_is_a_worker_error(project):
    with pytest.raises(WorkerError, match="is a int, not a function"):
        resolve(project.ref("NUMBER"))


def test_a_registry_entry_wins_over_everything(project, tripwire):
    arm, trace = tripwire
    registry = {"add": max, "bomb": min, "gone:f": sum}
    assert resolve(project.ref(), registry=registry) is max
    assert resolve(arm, registry=registry) is min
    assert resolve({"kind": "ref", "module": "gone", "qualname": "f"}, registry=registry) is sum
    assert resolve(project.ref("mul"), registry=registry)(2, 3) == 6
    assert not trace.exists()


def test_what_an_import_finds_is_given_as_it_is(project):
    project.write("class Udf:\n    def __call__(self):\n        return 1\nadd = Udf()\n")
    assert type(resolve(project.ref())).__name__ == "Udf"


# -- gate 1: may this worker run pickled functions


def test_pickled_functions_are_refused_unless_allowed(tripwire):
    arm, trace = tripwire
    with pytest.raises(TransportError, match=r"^this worker refuses pickled functions.*bomb \(/x\.py:1\)"):
        resolve(arm)
    with pytest.raises(TransportError, match="importable module, or start the worker with --allow-pickled"):
        resolve(arm, allow_pickled=False)
    assert not trace.exists()


def test_the_first_gate_comes_before_the_second(tripwire):
    arm, _ = tripwire
    with pytest.raises(TransportError, match="refuses pickled functions"):
        resolve({**arm, "runtime": {"python": "2.7.18"}})


# -- gate 2: was it pickled by a fitting interpreter


def stamp(**changes: object) -> dict[str, object]:
    return {**runtime_stamp(), **changes}


MAJOR, MINOR, PATCH = sys.version_info[:3]


@pytest.mark.parametrize(
    "changes, strict, minor",
    [
        ({}, True, True),
        ({"platform": "darwin-arm64"}, True, True),
        ({"python": f"{MAJOR}.{MINOR}.{PATCH + 1}"}, False, True),
        ({"python": f"{MAJOR}.{MINOR + 1}.{PATCH}"}, False, False),
        ({"python": f"{MAJOR}.1"}, False, False),
        ({"cloudpickle": runtime_stamp()["cloudpickle"].partition(".")[0] + ".999.0"}, False, True),
        ({"cloudpickle": "1.0.0"}, False, False),
        ({"impl": "pypy"}, False, False),
        ({"pickle_protocol": 99}, False, False),
        ({"python": None}, False, False),
    ],
)
def test_the_runtime_policies(changes, strict, minor):
    for policy, passes in (("strict", strict), ("minor", minor), ("off", True)):
        if passes:
            check_runtime(stamp(**changes), policy)
        else:
            with pytest.raises(TransportError, match="--runtime-policy off"):
                check_runtime(stamp(**changes), policy)


@pytest.mark.parametrize("missing", [None, "3.11", []])
def test_a_missing_stamp_passes_only_without_a_policy(missing):
    check_runtime(missing, "off")
    with pytest.raises(TransportError, match="does not say which Python"):
        check_runtime(missing, "minor")


def test_the_runtime_is_checked_before_anything_is_unpickled(tripwire):
    arm, trace = tripwire
    with pytest.raises(TransportError, match=r"pickled under python 3\.1\.0 and this worker has"):
        resolve({**arm, "runtime": stamp(python="3.1.0")}, allow_pickled=True)
    assert not trace.exists()


def test_a_blob_must_match_its_hash_before_it_is_loaded(tripwire):
    arm, trace = tripwire
    for wrong in ("sha256:" + "0" * 64, None, arm["hash"].removeprefix("sha256:"), ["x"]):
        with pytest.raises(TransportError, match="does not match its hash"):
            resolve({**arm, "hash": wrong}, allow_pickled=True)
    assert not trace.exists()
    with pytest.warns(ResourceWarning), pytest.raises(WorkerError, match="not a function"):
        resolve(arm, allow_pickled=True)
    assert trace.exists(), "the tripwire itself must work"


def test_a_known_blob_is_still_refused_by_each_gate_and_a_wrong_hash():
    arm = function_arm(lambda: 1)
    assert resolve(arm, allow_pickled=True) is resolve(arm, allow_pickled=True)
    with pytest.raises(TransportError, match="refuses"):
        resolve(arm)
    with pytest.raises(TransportError, match="pickled under"):
        resolve({**arm, "runtime": stamp(python="3.1.0")}, allow_pickled=True)
    with pytest.raises(TransportError, match="hash"):
        resolve({**arm, "hash": "sha256:" + "0" * 64}, allow_pickled=True)


@pytest.mark.parametrize("blob", [b"", b"\x80\x05garbage", b"cnot_here\nf\n."])
def test_a_blob_that_cannot_be_loaded_is_a_worker_error(blob):
    arm = {**function_arm(lambda: 1), "blob": blob, "hash": "sha256:" + hashlib.sha256(blob).hexdigest()}
    with pytest.raises(WorkerError, match="cannot load the pickled function"):
        resolve(arm, allow_pickled=True)


# -- gate 3: is the source the submitter's


def test_equal_source_passes_and_other_source_fails_loud(project):
    hashed = src_hash(resolve(project.ref()))
    assert hashed is not None
    assert len(hashed) == len("sha256:") + 16
    assert resolve(project.ref(hashed=hashed))(1, 2) == 3
    for policy in ("minor", "strict"):
        with pytest.raises(WorkerError, match=r"source of .*:add here \(sha256:.*--runtime-policy off"):
            resolve(project.ref(hashed="sha256:0123456789abcdef"), runtime_policy=policy)


def test_the_source_is_not_compared_when_the_policy_is_off(project):
    assert resolve(project.ref(hashed="sha256:0123456789abcdef"), runtime_policy="off")(1, 2) == 3
    with pytest.raises(WorkerError):
        resolve(project.ref(hashed="sha256:0123456789abcdef"))


def test_the_source_is_not_compared_when_either_side_has_none(project):
    assert resolve(project.ref())(1, 2) == 3
    assert (
        resolve({"kind": "ref", "module": "builtins", "qualname": "len", "src_hash": "sha256:01"})([1]) == 1
    )


def test_a_worker_with_old_code_in_memory_does_not_pass_it_off_as_new(project):
    resolve(project.ref("mul"))  # the worker imports the module
    project.write(SOURCE.replace("return a + b", "return b + a"))
    new = "sha256:" + hashlib.sha256(b"def add(a, b):\n    return b + a\n").hexdigest()[:16]
    with pytest.raises(WorkerError, match=r"changed on disk.*restart the worker"):
        resolve(project.ref(hashed=new))


def test_a_reloaded_module_is_taken_as_it_is_now(project):
    resolve(project.ref())
    project.write(SOURCE.replace("return a + b", "return (a, b)"))
    importlib.reload(sys.modules[project.name])
    new = "sha256:" + hashlib.sha256(b"def add(a, b):\n    return (a, b)\n").hexdigest()[:16]
    assert resolve(project.ref(hashed=new))(1, 2) == (1, 2)


# -- malformed input


@pytest.mark.parametrize(
    "arm",
    [
        {},
        {"kind": "ref"},
        {"kind": "ref", "module": "json"},
        {"kind": "ref", "module": ["json"], "qualname": "dumps"},
        {"kind": "ref", "module": 3, "qualname": "dumps"},
        {"kind": "ref", "module": "json", "qualname": None},
        {"kind": "ref", "module": "json", "qualname": "dumps", "src_hash": []},
        {"kind": "wasm", "module": "json", "qualname": "dumps"},
        {"kind": "pickle", "blob": "text", "hash": "", "runtime": runtime_stamp()},
    ],
)
@pytest.mark.parametrize("registry", [None, {"other": len}])
def test_a_malformed_function_is_a_transport_error(arm, registry):
    with pytest.raises(TransportError):
        resolve(arm, allow_pickled=True, registry=registry)


@pytest.mark.parametrize("module", [".relative", "", "a..b", "bad name"])
def test_a_module_name_that_is_none_is_a_worker_error(module):
    with pytest.raises(WorkerError, match=r"^cannot import module"):
        resolve({"kind": "ref", "module": module, "qualname": "f", "src_hash": None})


def test_an_unknown_policy_is_named(project):
    for arm in (project.ref(), function_arm(lambda: 1)):
        with pytest.raises(ConfigError, match="strict, minor, off"):
            resolve(arm, allow_pickled=True, runtime_policy="loose")
