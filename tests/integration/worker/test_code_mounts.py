"""Workers run invocations from the code that was pushed with them, and never from two codes in one process."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from code_plane import CodeKeepingPlane

TESTS = Path(__file__).parents[2]

_WORKER = """
import sys
from pathlib import Path
from code_plane import CodeKeepingPlane
from dreamlake.lakeshore.worker import WorkerOptions, serve

folder, slots, *more = sys.argv[1:]
plane = CodeKeepingPlane(folder)
idle = float(more[0]) if more else None
serve(plane, "default", WorkerOptions(root=Path(folder), concurrency=int(slots), retries=0, idle_exit_s=idle))
plane.close()
"""

_PRODUCER = """
import sys
from code_plane import CodeKeepingPlane
from dreamlake.lakeshore import SyncQueue
sys.path[:0] = sys.argv[2].split(":")
import jobs

queue = SyncQueue("default", dispatch=CodeKeepingPlane(sys.argv[1]))
for n in range(int(sys.argv[3])):
    print(queue.submit(jobs.work, n))
"""


class Place:
    """A plane with its workers, and projects in git trees that submit to it."""

    def __init__(self, path):
        self.path = path
        self.home = path / "home"
        self.home.mkdir()
        self.plane = CodeKeepingPlane(self.home)
        self.processes = []
        self.env = {**os.environ, "LAKESHORE_HOME": str(self.home), "PYTHONPATH": str(TESTS)}
        self.env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def project(self, name, files):
        root = self.path / name
        for file, text in files.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(textwrap.dedent(text))
        for words in (
            ["init", "-q", "-b", "main"],
            ["add", "-A"],
            ["-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "x"],
        ):
            subprocess.run(["git", "-C", str(root), *words], env=self.env, check=True, timeout=30)
        return root

    def submit(self, *import_from, count=1, env=None):
        """Submit ``jobs.work(n)`` in a process that imports from there; the ids."""
        command = [
            sys.executable,
            "-c",
            _PRODUCER,
            str(self.home),
            ":".join(map(str, import_from)),
            str(count),
        ]
        ran = subprocess.run(
            command, env={**self.env, **(env or {})}, capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == 0, ran.stderr
        self.said = ran.stderr
        return ran.stdout.split()

    def worker(self, slots=1, *flags):
        """Start a worker in an empty folder: it has none of the projects."""
        empty = self.path / "empty"
        empty.mkdir(exist_ok=True)
        with (self.path / "worker.log").open("ab") as log:
            command = [sys.executable, "-c", _WORKER, str(self.home), str(slots), *map(str, flags)]
            process = subprocess.Popen(command, env=self.env, cwd=empty, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def result(self, inv_id, limit=30.0):
        from dreamlake.lakeshore import SyncQueue

        try:
            return SyncQueue("default", dispatch=self.plane).result(inv_id, limit)
        except TimeoutError:
            pytest.fail((self.path / "worker.log").read_text())

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(10)
        self.plane.close()


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


def work_of(name):
    return {
        "jobs.py": f"import os, helper\ndef work(n):\n    return [{name!r}, helper.NAME, n, os.getpid()]\n",
        "helper.py": f"NAME = {name!r}\n",
    }


def test_a_worker_without_the_code_runs_it(place):
    project = place.project("project", work_of("first"))
    (inv_id,) = place.submit(project)
    place.worker()
    assert place.result(inv_id)[:3] == ["first", "first", 0]


def test_packages_below_a_source_folder_are_found_too(place):
    project = place.project(
        "project",
        {
            "src/jobs/__init__.py": "from tools import one\ndef work(n):\n    return n + one.ONE\n",
            "libs/tools/one.py": "ONE = 1\n",
        },
    )
    (inv_id,) = place.submit(project / "src", project / "libs")
    place.worker()
    assert place.result(inv_id) == 1


def test_it_is_pushed_once_and_fetched_once(place):
    project = place.project("project", work_of("first"))
    ids = place.submit(project, count=20) + place.submit(project, count=5)
    place.worker(2)
    assert [place.result(inv_id)[2] for inv_id in ids] == [*range(20), *range(5)]
    assert sorted(place.plane.notes()) == ["announced", "announced", "fetched", "uploaded"]


@pytest.mark.parametrize("slots", [1, 3])
def test_two_codes_never_share_a_process(place, slots):
    projects = {name: place.project(name, work_of(name)) for name in ("red", "green")}
    ids = [(name, place.submit(projects[name], count=3)) for name in ("red", "green", "red", "green")]
    place.worker(slots)
    pids = {"red": set(), "green": set()}
    for name, group in ids:
        for n, inv_id in enumerate(group):
            found = place.result(inv_id)
            assert found[:3] == [name, name, n]
            pids[name].add(found[3])
    assert not pids["red"] & pids["green"]


def test_an_edit_is_a_new_code_and_the_next_invocation_runs_it(place):
    project = place.project("project", work_of("before"))
    place.worker()
    (first,) = place.submit(project)
    assert place.result(first)[:2] == ["before", "before"]
    (project / "helper.py").write_text("NAME = 'after'\n")
    (second,) = place.submit(project)
    assert place.result(second)[:2] == ["before", "after"]


def test_code_that_cannot_be_had_fails_the_invocation_and_the_worker_goes_on(place):
    project = place.project("project", work_of("first"))
    (lost,) = place.submit(project)
    for archive in place.plane.repos.iterdir():
        archive.unlink()
    other = place.project("other", work_of("second"))
    (good,) = place.submit(other)
    place.worker()
    assert place.result(good)[0] == "second"
    row = place.plane.get(lost)
    assert row["state"] == "failed"
    assert "no code repository" in str(row["error"])


def test_a_damaged_archive_fails_the_invocation(place):
    (inv_id,) = place.submit(place.project("project", work_of("first")))
    for archive in place.plane.repos.iterdir():
        archive.write_bytes(archive.read_bytes()[:100])
    process = place.worker(1, 0.5)
    assert process.wait(30) == 0
    assert "damaged" in str(place.plane.get(inv_id)["error"])


def test_what_is_off_or_refused_goes_without_and_says_so(place):
    project = place.project("project", work_of("first"))
    place.submit(project, env={"LAKESHORE_PUSH_CODE": "off"})
    assert place.plane.notes() == []
    assert place.said == ""
    plain = place.path / "plain"
    plain.mkdir()
    for name, text in work_of("plain").items():
        (plain / name).write_text(text)
    place.submit(plain)
    assert place.plane.notes() == []


def test_a_tree_that_cannot_be_pushed_is_said_once_and_the_submit_goes_through(place):
    project = place.project("project", work_of("first"))
    (project / "link").symlink_to("/etc/passwd")
    assert len(place.submit(project, count=2)) == 2
    assert place.said.count("leads out of the git tree") == 1


def test_a_drain_hands_back_what_waits_for_its_code(place):
    (inv_id,) = place.submit(place.project("project", work_of("first")))
    (archive,) = place.plane.repos.iterdir()
    held = archive.read_bytes()
    archive.unlink()
    os.mkfifo(archive)  # a fetch that does not end
    process = place.worker()
    ends = time.monotonic() + 20
    while place.plane.notes()[-1] != "fetched":
        assert time.monotonic() < ends
        time.sleep(0.02)
    process.terminate()
    assert process.wait(20) == 0
    assert place.plane.get(inv_id)["state"] == "queued"
    archive.unlink()
    archive.write_bytes(held)
    place.worker()
    assert place.result(inv_id)[0] == "first"
