"""Unpacked once for a machine, kept while it is used, removed when room is needed."""

import subprocess
import sys
import threading

import pytest

from dreamlake.lakeshore.code import CodeCache, archive_tree
from dreamlake.lakeshore.errors import DispatchError, WorkerError


@pytest.fixture
def archive(tree):
    return archive_tree(tree.root).data


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


class Fetching:
    def __init__(self, data):
        self.data = data
        self.times = 0

    def __call__(self):
        self.times += 1
        return self.data


def entries(folder):
    return {path.name for path in folder.iterdir() if path.is_dir()}


def test_it_is_fetched_once_and_found_again(folder, archive):
    fetch = Fetching(archive)
    first = CodeCache(folder).mount("plane", "id", fetch)
    second = CodeCache(folder).mount("plane", "id", fetch)
    assert fetch.times == 1
    assert first.path == second.path
    assert (first.path / "jobs.py").exists()
    first.release()
    second.release()
    second.release()


def test_the_same_id_of_another_control_plane_is_another_folder(folder, archive):
    one = CodeCache(folder).mount("plane/ours", "id", Fetching(archive))
    other = CodeCache(folder).mount("plane/theirs", "id", Fetching(archive))
    assert one.path != other.path
    one.release()
    other.release()


def test_a_fetch_that_fails_leaves_nothing_and_is_tried_again(folder, archive):
    def fails():
        raise DispatchError("the control plane does not answer")

    cache = CodeCache(folder)
    with pytest.raises(DispatchError):
        cache.mount("plane", "id", fails)
    with pytest.raises(WorkerError, match="damaged"):
        cache.mount("plane", "id", Fetching(b"garbage"))
    assert entries(folder) == set()
    cache.mount("plane", "id", Fetching(archive)).release()


def test_many_threads_unpack_it_once(folder, archive):
    fetch, mounts = Fetching(archive), []
    threads = [
        threading.Thread(target=lambda: mounts.append(CodeCache(folder).mount("plane", "id", fetch)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({mount.path for mount in mounts}) == 1
    assert len(mounts) == 8
    assert fetch.times == 1
    for mount in mounts:
        mount.release()


_PROGRAM = """
import sys
from pathlib import Path
from dreamlake.lakeshore.code import CodeCache

def fetch():
    print("fetched")
    return Path(sys.argv[2]).read_bytes()

CodeCache(Path(sys.argv[1])).mount("plane", "id", fetch).release()
"""


def test_many_processes_unpack_it_once(folder, archive, tmp_path):
    (tmp_path / "archive").write_bytes(archive)
    command = [sys.executable, "-c", _PROGRAM, str(folder), str(tmp_path / "archive")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert "".join(said) == "fetched\n"


def test_what_was_used_longest_ago_goes_first_and_what_is_used_stays(folder, archive):
    cache = CodeCache(folder, most_bytes=1)
    used = cache.mount("plane", "used", Fetching(archive))
    cache.mount("plane", "old", Fetching(archive)).release()
    newest = cache.mount("plane", "new", Fetching(archive))
    assert entries(folder) == {used.path.name, newest.path.name}
    used.release()
    cache.mount("plane", "newer", Fetching(archive)).release()
    assert used.path.name not in entries(folder)
    newest.release()


def test_what_was_removed_comes_again(folder, archive):
    cache = CodeCache(folder, most_bytes=1)
    cache.mount("plane", "a", Fetching(archive)).release()
    cache.mount("plane", "b", Fetching(archive)).release()
    again = Fetching(archive)
    mount = cache.mount("plane", "a", again)
    assert again.times == 1
    assert (mount.path / "jobs.py").exists()
    mount.release()


def test_a_folder_that_cannot_be_made_is_named(tmp_path, archive):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkerError, match="LAKESHORE_HOME"):
        CodeCache(tmp_path / "file" / "code").mount("plane", "id", Fetching(archive))
