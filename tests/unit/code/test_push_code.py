"""Pushing: once for each commit, once in each process."""

import hashlib
import threading

import pytest

from dreamlake.lakeshore.code import push_code, unpack
from dreamlake.lakeshore.errors import ConfigError, DispatchError, RefusedError


class Store:
    """A control plane's answers, kept in memory."""

    def __init__(self, scope="http://plane/default", *, by_url=False):
        self.code_scope = scope
        self.by_url = by_url
        self.announced = []
        self.archives = {}
        self.uploads = 0

    def announce_code(self, *, remote, commit, dirty, size, sha256):
        self.announced.append((remote, commit, dirty, size, sha256))
        answer = {"code_repo_id": f"id-{commit}", "exists": f"id-{commit}" in self.archives}
        if self.by_url and not answer["exists"]:
            answer["upload"] = {"url": "http://s3/x", "headers": {"content-length": str(size)}}
        return answer

    def upload_code(self, code_repo_id, data, upload):
        assert (upload is not None) == self.by_url
        self.uploads += 1
        assert hashlib.sha256(data).hexdigest() == self.announced[-1][-1]
        self.archives[code_repo_id] = data

    def fetch_code(self, code_repo_id):
        return self.archives[code_repo_id]


@pytest.fixture
def scope(tmp_path):
    """A name that no other test's pushes are remembered under."""
    return f"http://plane/{tmp_path}"


@pytest.mark.parametrize("by_url", [False, True])
def test_the_archive_arrives_and_the_stamp_says_where_it_is(tree, scope, tmp_path, by_url):
    store = Store(scope, by_url=by_url)
    stamp = push_code(store, tree.root)["code"]
    commit = tree.git("rev-parse", "HEAD")
    assert stamp == {
        "id": f"id-{commit}",
        "remote": "local:project",
        "commit": commit,
        "dirty": False,
        "paths": [],
    }
    unpack(store.fetch_code(stamp["id"]), tmp_path / "out")
    assert (tmp_path / "out/jobs.py").exists()
    assert store.uploads == 1


def test_it_is_pushed_once_in_a_process(tree, scope):
    store = Store(scope)
    assert push_code(store, tree.root) == push_code(store, tree.root / "pkg") == push_code(store, tree.root)
    assert store.uploads == 1
    assert len(store.announced) <= 2  # once for each folder that it was asked of


def test_a_commit_that_is_there_is_not_uploaded_again(tree, scope):
    first, second = Store(scope), Store(f"{scope}/other")
    push_code(first, tree.root)
    second.archives = first.archives
    push_code(second, tree.root)
    assert second.uploads == 0


def test_asked_again_it_looks_again(tree, scope):
    store = Store(scope)
    before = push_code(store, tree.root)["code"]
    tree.write("jobs.py", "changed")
    assert push_code(store, tree.root)["code"] == before
    after = push_code(store, tree.root, again=True)["code"]
    assert after["dirty"] is True
    assert after["id"] != before["id"]
    assert push_code(store, tree.root)["code"] == after


def test_each_plane_gets_its_own(tree, scope):
    one, other = Store(scope), Store(f"{scope}/other")
    push_code(one, tree.root)
    push_code(other, tree.root)
    assert one.uploads == other.uploads == 1


def test_threads_push_once(tree, scope):
    store = Store(scope)
    threads = [threading.Thread(target=push_code, args=(store, tree.root)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert store.uploads == 1


def test_the_folders_that_are_imported_from_are_told_in_order(tree, scope, monkeypatch, tmp_path):
    tree.write("src/pkg2/mod.py")
    tree.write("data/ignored.py")
    paths = [
        tree.root / "src",
        tmp_path,
        tree.root,
        tree.root / "data",
        tree.root / "missing",
        tree.root / "src",
    ]
    monkeypatch.setattr("sys.path", [str(path) for path in paths])
    assert push_code(Store(scope), tree.root)["code"]["paths"] == ["src", ""]
    monkeypatch.chdir(tree.root)
    monkeypatch.setattr("sys.path", ["", "/usr/lib"])
    assert push_code(Store(scope), tree.root)["code"]["paths"] == [""]


def test_a_refusal_of_other_content_is_tried_again(tree, scope):
    class Raced(Store):
        def upload_code(self, code_repo_id, data, upload):
            if self.uploads == 0:
                self.uploads += 1
                self.archives[code_repo_id] = b"somebody else's"
                raise RefusedError("other content was announced")
            super().upload_code(code_repo_id, data, upload)

    store = Raced(scope)
    assert push_code(store, tree.root)["code"]["id"] in store.archives
    assert len(store.announced) == 2


def test_an_upload_that_never_arrives_is_an_error_and_nothing_is_remembered(tree, scope):
    class Lossy(Store):
        def upload_code(self, code_repo_id, data, upload):
            self.uploads += 1

    with pytest.raises(DispatchError, match="did not arrive"):
        push_code(Lossy(scope, by_url=True), tree.root)
    store = Store(scope)
    push_code(store, tree.root)
    assert store.uploads == 1


def test_outside_of_a_tree_nothing_is_announced(tmp_path, scope):
    store = Store(scope)
    with pytest.raises(ConfigError, match="in no git tree"):
        push_code(store, tmp_path)
    assert store.announced == []
