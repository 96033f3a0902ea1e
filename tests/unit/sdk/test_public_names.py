"""What `import dreamlake.lakeshore` offers, and what it costs."""

import ast
import inspect
import json
import pkgutil
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
    "HttpDispatch",
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


def test_no_module_hides_a_name_by_being_called_the_same():
    # Importing dreamlake.lakeshore.x binds x as an attribute of the package, in the place of a lazy name.
    modules = {found.name for found in pkgutil.iter_modules(dls.__path__)}
    assert modules & set(dls.__all__) == {"lifecycle"}


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


def test_type_checkers_see_each_name_where_it_is_loaded_from():
    tree = ast.parse(inspect.getsource(dls))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen.pop("lifecycle") == "dreamlake.lakeshore"
    assert seen == {name: f"dreamlake.lakeshore.{home}" for name, home in dls._HOMES.items()}
    assert set(seen) | {"lifecycle"} == set(dls.__all__)
