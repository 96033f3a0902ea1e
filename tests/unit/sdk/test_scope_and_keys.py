"""scope, run.read and run.write: which file a key leads to, and which keys are refused."""

import asyncio
import os
import threading
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore import run, scope
from dreamlake.lakeshore.context.keys import locate
from dreamlake.lakeshore.errors import KeyContractError


def test_a_key_is_resolved_below_the_root(tmp_path):
    with scope(root=tmp_path):
        assert run.write("a/b.txt") == tmp_path / "a/b.txt"
        assert run.read("a/b.txt") == tmp_path / "a/b.txt"


def test_outside_of_any_scope_the_root_is_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run.write("x.txt") == tmp_path / "x.txt"
    assert (run.invocation_id, run.attempt, run.prefix, run.root) == (None, 0, "", tmp_path)


def test_child_scopes_join_prefixes(tmp_path):
    with scope("scenes", root=tmp_path), scope("0007") as inner:
        assert inner.prefix == run.prefix == "scenes/0007"
        assert run.write("depth.png") == tmp_path / "scenes/0007/depth.png"
    assert run.prefix == ""


def test_a_scope_ends_with_its_block_even_when_the_block_raises(tmp_path):
    with pytest.raises(RuntimeError), scope("a", root=tmp_path):
        raise RuntimeError
    assert run.prefix == ""


def test_a_new_root_starts_afresh(tmp_path):
    with scope("a", root=tmp_path / "one"), scope("b", root=tmp_path / "two"):
        assert run.read("k") == tmp_path / "two/b/k"


def test_write_makes_the_parents_and_dir_makes_the_directory_itself(tmp_path):
    with scope("s", root=tmp_path):
        assert run.write("deep/er/x.bin").parent.is_dir()
        assert not run.write("deep/er/x.bin").exists()
        assert run.write("frames", dir=True).is_dir()


def test_read_all_and_write_all_keep_the_shape_of_a_str_list_or_dict(tmp_path):
    with scope(root=tmp_path):
        assert run.write_all("a") == tmp_path / "a"
        assert run.write_all(["a", "b"]) == [tmp_path / "a", tmp_path / "b"]
        assert run.read_all({"left": "a", "right": ["b", "c"]}) == {
            "left": tmp_path / "a",
            "right": [tmp_path / "b", tmp_path / "c"],
        }


def test_dotdot_climbs_to_a_parent_scope(tmp_path):
    with scope("scenes/0007", root=tmp_path):
        assert run.read("../shared/poses.npy") == tmp_path / "scenes/shared/poses.npy"
        with scope("../0008"):
            assert run.prefix == "scenes/0008"


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("../../../x", "climbs out of the root"),
        ("/etc/passwd", "pass 'etc/passwd'"),
        ("a\\b", "write 'a/b'"),
        ("a\0b", "NUL"),
        ("", "names a scope"),
        ("..", "names a scope"),
        (7, "a key is a str, not int"),
        (Path("x"), "a key is a str, not PosixPath"),
    ],
)
def test_a_key_that_cannot_be_is_refused_with_the_fix(tmp_path, key, fix):
    with scope("s", root=tmp_path), pytest.raises(KeyContractError) as caught:
        run.write(key)
    assert fix in str(caught.value)


def test_dotdot_never_climbs_out_of_the_root_by_a_scope_either(tmp_path):
    with pytest.raises(KeyContractError, match="climbs out of the root"), scope("a/../..", root=tmp_path):
        pass


def test_symbolic_links_may_not_lead_out_of_the_root(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "inner").mkdir()
    (root / "way").symlink_to(outside)
    (root / "loop").symlink_to(root / "loop")
    (root / "fine").symlink_to(root / "inner")
    with scope(root=root):
        for use in (run.read, run.write):
            with pytest.raises(KeyContractError, match="leads out of the root"):
                use("way/secret.txt")
            with pytest.raises(KeyContractError, match=r"loop"):
                use("loop")
        assert run.write("fine/x") == root / "fine/x"
    assert list(outside.iterdir()) == []


def test_a_root_that_is_itself_a_link_is_fine(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with scope(root=tmp_path / "link"):
        run.write("x").write_text("1")
    assert (tmp_path / "real/x").read_text() == "1"


def test_a_key_whose_parent_is_a_file_or_that_is_a_directory_is_refused(tmp_path):
    with scope(root=tmp_path):
        run.write("file").write_text("")
        with pytest.raises(KeyContractError, match="needs a directory where"):
            run.write("file/below")
        with pytest.raises(KeyContractError, match="needs a directory where"):
            run.write("file", dir=True)
        run.write("folder", dir=True)
        with pytest.raises(KeyContractError, match="pass dir=True"):
            run.write("folder")


def test_scopes_of_threads_and_tasks_are_their_own(tmp_path):
    seen = []

    async def one(name):
        with scope(name):
            await asyncio.sleep(0)
            seen.append(run.prefix)

    async def both():
        await asyncio.gather(one("a"), one("b"))

    with scope("base", root=tmp_path):
        asyncio.run(both())
        thread = threading.Thread(target=lambda: seen.append(run.prefix))
        thread.start()
        thread.join(10)
    assert sorted(seen) == ["", "base/a", "base/b"]


PARTS = st.lists(st.sampled_from(["a", "b", "..", ".", "", "c.d"]), max_size=8)


@given(prefix=st.lists(st.sampled_from(["p", "q", "r"]), max_size=4), parts=PARTS)
def test_a_location_never_leaves_the_root_and_is_normal(prefix, parts):
    key = "/".join(parts)
    start = "/".join(prefix)
    if key.startswith("/"):
        return
    try:
        location = locate(start, key)
    except KeyContractError:
        depth, lowest = len(prefix), len(prefix)
        for part in parts:
            depth += -1 if part == ".." else part not in ("", ".")
            lowest = min(lowest, depth)
        assert lowest < 0
        return
    expected = os.path.normpath("/".join(["root", *prefix, *parts]))
    assert f"root/{location}".rstrip("/") == expected
    assert ".." not in PurePosixPath(location).parts
