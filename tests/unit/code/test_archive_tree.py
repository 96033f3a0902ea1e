"""A git tree as an archive: what is in it, and that equal trees give equal bytes."""

import gzip
import io
import os
import re
import tarfile

import pytest

from dreamlake.lakeshore.code import archive_tree
from dreamlake.lakeshore.errors import ConfigError


def members(archive):
    with tarfile.open(fileobj=io.BytesIO(archive.data), mode="r:gz") as tar:
        return {member.name: member for member in tar}


def test_a_clean_tree_has_its_commit_and_what_is_tracked(tree):
    archive = archive_tree(tree.root)
    assert archive.commit == tree.git("rev-parse", "HEAD")
    assert archive.dirty is False
    assert list(members(archive)) == [".gitignore", "jobs.py", "pkg/__init__.py"]
    assert archive.folders == {"", "pkg"}


def test_it_is_the_whole_tree_from_any_folder_of_it(tree, monkeypatch):
    monkeypatch.chdir(tree.root / "pkg")
    assert archive_tree() == archive_tree(tree.root)


def test_equal_trees_give_equal_bytes_whenever_and_whoever(tree, new_tree):
    first = archive_tree(tree.root)
    other = new_tree("elsewhere")
    for name in (".gitignore", "pkg/__init__.py", "jobs.py"):
        other.write(name, (tree.root / name).read_text(), mode=0o600)
        os.utime(other.root / name, (1, 1))
    other.commit()
    assert archive_tree(other.root).sha256 == first.sha256


def test_nothing_of_the_machine_is_in_it(tree):
    for member in members(archive_tree(tree.root)).values():
        assert (member.uid, member.gid, member.uname, member.gname, member.mtime) == (0, 0, "", "", 0)
    assert archive_tree(tree.root).data[4:8] == bytes(4)  # gzip's time


def test_a_program_stays_one_and_other_modes_are_plain(tree):
    tree.write("run.sh", "#!/bin/sh\n", mode=0o4755)
    tree.write("private.py", mode=0o600)
    found = members(archive_tree(tree.root))
    assert oct(found["run.sh"].mode) == "0o755"
    assert oct(found["private.py"].mode) == "0o644"


def test_untracked_files_belong_to_it_and_ignored_ones_do_not(tree):
    tree.write("new.py")
    tree.write("data/large.bin", "x" * 1000)
    archive = archive_tree(tree.root)
    assert archive.dirty is True
    assert "new.py" in members(archive)
    assert not any(name.startswith("data") for name in members(archive))


def test_a_dirty_tree_has_a_commit_made_of_its_content(tree):
    head = archive_tree(tree.root).commit
    tree.write("jobs.py", "changed")
    first = archive_tree(tree.root)
    assert re.fullmatch("[0-9a-f]{40}", first.commit)
    assert first.commit != head
    assert archive_tree(tree.root).commit == first.commit
    tree.write("jobs.py", "changed again")
    assert archive_tree(tree.root).commit not in (first.commit, head)
    tree.git("checkout", "-q", "jobs.py")
    assert archive_tree(tree.root).commit == head


def test_a_file_that_was_deleted_and_not_committed_is_left_out(tree):
    (tree.root / "jobs.py").unlink()
    archive = archive_tree(tree.root)
    assert archive.dirty
    assert "jobs.py" not in members(archive)


def test_a_tree_without_a_commit_can_be_pushed(new_tree):
    made = new_tree("fresh")
    made.write("jobs.py")
    archive = archive_tree(made.root)
    assert archive.dirty
    assert len(archive.commit) == 40
    assert list(members(archive)) == ["jobs.py"]


def test_an_empty_tree_is_an_empty_archive(new_tree):
    assert members(archive_tree(new_tree("fresh").root)) == {}


@pytest.mark.parametrize(
    "name", ["a b.py", "ümläut/ß.py", "line\nbreak.py", 'quote".py', "x" * 200 + ".py", "-rf"]
)
def test_names_of_any_kind_come_through(tree, name):
    tree.write(name, "content")
    assert name in members(archive_tree(tree.root))


# -- links, submodules, nested trees
def test_a_link_within_the_tree_is_kept_as_a_link(tree):
    (tree.root / "pkg/same.py").symlink_to("../jobs.py")
    (tree.root / "later.py").symlink_to("not_written_yet.py")
    found = members(archive_tree(tree.root))
    assert found["pkg/same.py"].linkname == "../jobs.py"
    assert found["later.py"].issym()


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside.py", "pkg/../../outside.py"])
def test_a_link_that_leads_out_is_refused_with_what_to_do(tree, target):
    (tree.root / "leak.py").symlink_to(target)
    with pytest.raises(ConfigError, match=r"leak\.py is a link that leads out .* let git ignore it"):
        archive_tree(tree.root)


def test_submodules_come_with_their_files(tree, new_tree):
    library = new_tree("library")
    library.write("lib.py", "x = 1")
    library.commit()
    tree.git("submodule", "add", "-q", str(library.root), "vendor/library")
    tree.commit()
    archive = archive_tree(tree.root)
    assert archive.dirty is False
    assert {"vendor/library/lib.py", ".gitmodules"} <= members(archive).keys()
    assert not any(".git/" in name for name in members(archive))


def test_a_submodule_with_changes_makes_the_tree_dirty(tree, new_tree):
    library = new_tree("library")
    library.write("lib.py", "x = 1")
    library.commit()
    tree.git("submodule", "add", "-q", str(library.root), "library")
    tree.commit()
    tree.write("library/lib.py", "x = 2")
    assert archive_tree(tree.root).dirty


def test_a_repository_inside_that_is_no_submodule_comes_along(tree, new_tree):
    inner = new_tree("project/inner")
    inner.write("tool.py")
    inner.commit()
    archive = archive_tree(tree.root)
    assert "inner/tool.py" in members(archive)
    assert not any(".git/" in name for name in members(archive))


# -- where it comes from
def test_the_remote_is_named_without_its_password(tree):
    assert archive_tree(tree.root).remote == "local:project"
    tree.git("remote", "add", "upstream", "git@git.example.com:team/project.git")
    assert archive_tree(tree.root).remote == "git@git.example.com:team/project.git"
    tree.git("remote", "add", "origin", "https://me:hunter2@git.example.com/team/project.git")
    assert archive_tree(tree.root).remote == "https://git.example.com/team/project.git"


def test_inside_a_hook_of_another_tree_it_is_still_this_one(tree, new_tree, monkeypatch):
    other = new_tree("other")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git/index"))
    assert "jobs.py" in members(archive_tree(tree.root))


# -- what cannot be pushed
def test_outside_of_any_tree_the_error_says_what_to_do(tmp_path):
    (tmp_path / "plain").mkdir()
    with pytest.raises(ConfigError, match=r"is in no git tree.*git init"):
        archive_tree(tmp_path / "plain")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="is not a folder"):
        archive_tree(tmp_path / "missing")


def test_without_git_the_error_says_so(tree, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match="needs git"):
        archive_tree(tree.root)


def test_too_large_a_tree_names_its_largest_files(tree):
    (tree.root / "weights.bin").write_bytes(os.urandom(2 << 20))
    with pytest.raises(
        ConfigError, match=r"too large.*more than 1 MiB compressed. Largest: weights.bin \(2.0 MiB\), "
    ):
        archive_tree(tree.root, most_bytes=1 << 20)


def test_too_large_uncompressed_is_refused_before_it_is_read(tree):
    with (tree.root / "sparse.bin").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(
        ConfigError, match=r"3072 MiB, and 1024 MiB can be pushed. Largest: sparse.bin \(3072.0 MiB\)"
    ):
        archive_tree(tree.root)


def test_the_digest_is_that_of_the_bytes(tree):
    import hashlib

    archive = archive_tree(tree.root)
    assert archive.sha256 == hashlib.sha256(archive.data).hexdigest()
    assert archive.size == len(archive.data)
    assert gzip.decompress(archive.data)


def test_what_python_compiled_makes_no_tree_dirty_and_is_left_out(tree):
    """A stale __pycache__ would be run instead of the source that lies beside it."""
    tree.write("__pycache__/jobs.cpython-311.pyc", "compiled")
    tree.write("pkg/deep/__pycache__/x.cpython-311.pyc", "compiled")
    tree.write("old.pyc", "compiled")
    archive = archive_tree(tree.root)
    assert (archive.dirty, archive.commit) == (False, tree.git("rev-parse", "HEAD"))
    assert not [name for name in members(archive) if name.endswith(".pyc") or "__pycache__" in name]
