"""A home of its own for each test, and the command line run in the test's process."""

import json
import sys
from dataclasses import dataclass

import pytest

from dreamlake.lakeshore.cli.app import run
from dreamlake.lakeshore.dispatch import Dispatch


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        """The one line on stderr of a command that did not do what it was asked."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("lakeshore: ")
        return line.removeprefix("lakeshore: ")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("LAKESHORE_URL", "LAKESHORE_NAMESPACE", "LAKESHORE_ROOT"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    monkeypatch.setenv("LAKESHORE_HOME", str(path))
    return path


@pytest.fixture
def lakeshore(capsys):
    """``lakeshore("jobs", "list")``: run one command."""

    def call(*args):
        status = run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


@pytest.fixture
def plane(home):
    home.mkdir(exist_ok=True)
    opened = Dispatch(home / "dispatch.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def bodies(tmp_path, monkeypatch):
    """A folder with a module ``cli_bodies``, which is the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "cli_bodies.py").write_text(
        "import dreamlake.lakeshore as dls\n"
        "def add(a, b=0): return a + b\n"
        "@dls.udf(queue='bound', retries=2)\n"
        "def bound(x): return x\n"
        "class Space:\n"
        "    @staticmethod\n"
        "    def inner(): return 1\n"
    )
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("cli_bodies", None)
