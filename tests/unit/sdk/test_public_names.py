"""What `import dreamlake.lakeshore` offers, and what it costs."""

import json
import subprocess
import sys

import dreamlake.lakeshore as dls

DOCUMENTED = [
    "udf",
    "UDF",
    "thunk",
    "Thunk",
    "scope",
    "run",
    "RunContext",
    "Queue",
    "SyncQueue",
    "Topic",
    "Job",
    "Dispatch",
    "run_worker",
    "Storage",
    "TemporaryCredentials",
    "RunConfig",
    "lifecycle",
    "DispatchError",
    "WorkerError",
    "TransportError",
]


def in_a_fresh_process(program: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_public_names_are_exactly_the_documented_ones():
    assert sorted(dls.__all__) == sorted(DOCUMENTED)
    assert set(DOCUMENTED) <= set(dir(dls))


def test_every_public_name_can_be_had():
    for name in DOCUMENTED:
        assert getattr(dls, name) is not None, name


def test_names_are_lazy_and_heavy_packages_stay_out():
    loaded = in_a_fresh_process(
        "import sys, json; before = set(sys.modules); import dreamlake.lakeshore; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    assert isinstance(loaded, list)
    heavy = {"msgpack", "numpy", "pydantic", "sqlite3", "httpx", "asyncio", "inspect", "cloudpickle", "rich"}
    assert not heavy & {name.partition(".")[0] for name in loaded}
    ours = [name for name in loaded if name.startswith("dreamlake")]
    assert ours == ["dreamlake", "dreamlake.lakeshore"]


def test_a_name_is_not_hidden_by_a_module_of_the_same_name():
    program = """
import importlib, json, pkgutil, types
import dreamlake.lakeshore as dls
skip = ("__main__", ".cli", ".daemon")
for found in pkgutil.walk_packages(dls.__path__, dls.__name__ + "."):
    if not any(part in found.name for part in skip):
        importlib.import_module(found.name)
modules = [name for name in dls.__all__ if isinstance(getattr(dls, name), types.ModuleType)]
print(json.dumps(modules))
"""
    assert in_a_fresh_process(program) == ["lifecycle"]


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert dls.__version__ == version("lakeshore-kube")


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    try:
        dls.no_such_name
    except AttributeError as exc:
        assert "no_such_name" in str(exc)
    else:
        raise AssertionError("no AttributeError")
