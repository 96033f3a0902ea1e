"""Archives from others: what is in them lands inside its folder, or nothing does."""

import gzip
import io
import os
import tarfile

import pytest

from dreamlake.lakeshore.code import archive_tree, unpack
from dreamlake.lakeshore.errors import WorkerError


def member(name, data=b"", kind=tarfile.REGTYPE, link="", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(data)
    return info, data


def packed(*members):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def refused(data, tmp_path, match="refused", **limits):
    with pytest.raises(WorkerError, match=match):
        unpack(data, tmp_path / "code", **limits)
    assert everything(tmp_path) == []


def test_what_was_archived_comes_out(tree, tmp_path):
    tree.write("run.sh", "#!/bin/sh\n", mode=0o755)
    tree.write("deep/er/x.txt", "x" * 5000)
    (tree.root / "deep/link").symlink_to("er")
    size = unpack(archive_tree(tree.root).data, tmp_path / "code")
    out = tmp_path / "code"
    assert size == sum(
        path.stat().st_size for path in out.rglob("*") if path.is_file() and not path.is_symlink()
    )
    assert (out / "jobs.py").read_text() == (tree.root / "jobs.py").read_text()
    assert (out / "deep/link/x.txt").read_text() == "x" * 5000
    assert os.access(out / "run.sh", os.X_OK)
    assert not (out / ".git").exists()


def test_a_folder_that_is_there_stays_as_it_is(tmp_path):
    unpack(packed(member("first.py")), tmp_path / "code")
    unpack(packed(member("second.py")), tmp_path / "code")
    assert everything(tmp_path) == ["code", "code/first.py"]


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/evil.py", "a/../../evil.py", "..", "a/..", "a\\..\\evil.py"]
)
def test_names_that_lead_out_are_refused(tmp_path, name):
    refused(packed(member("good.py"), member(name, b"x")), tmp_path)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "a/../../outside", ".."])
def test_links_that_lead_out_are_refused(tmp_path, target):
    refused(packed(member("link", kind=tarfile.SYMTYPE, link=target)), tmp_path)


def test_links_that_only_lead_out_together_are_refused(tmp_path):
    first = member("a/b/up", kind=tarfile.SYMTYPE, link="../..")
    second = member("out", kind=tarfile.SYMTYPE, link="a/b/up/..")
    refused(packed(first, second), tmp_path)


def test_nothing_is_written_through_a_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = member("sub", kind=tarfile.SYMTYPE, link=str(outside))
    with pytest.raises(WorkerError):
        unpack(packed(link, member("sub/evil.py", b"x")), tmp_path / "code")
    assert everything(tmp_path) == ["outside"]


def test_a_link_that_goes_round_is_refused_or_harmless(tmp_path):
    unpack(packed(member("loop", kind=tarfile.SYMTYPE, link="loop")), tmp_path / "code")
    assert (tmp_path / "code/loop").is_symlink()


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE])
def test_devices_pipes_and_hard_links_are_refused(tmp_path, kind):
    refused(packed(member("odd", kind=kind, link="good.py")), tmp_path)


def test_setuid_and_writable_by_all_do_not_come_out(tmp_path):
    unpack(packed(member("tool", b"x", mode=0o6777), member("file", b"x", mode=0o666)), tmp_path / "code")
    assert (tmp_path / "code/tool").stat().st_mode & 0o7777 & ~0o755 == 0
    assert (tmp_path / "code/file").stat().st_mode & 0o7777 & ~0o644 == 0


def test_a_name_that_comes_twice_is_refused(tmp_path):
    refused(packed(member("x.py", b"1"), member("./x.py", b"2")), tmp_path, "twice")


def test_too_many_files_are_refused(tmp_path):
    refused(packed(*(member(f"f{n}") for n in range(20))), tmp_path, "more than 10 files", most_files=10)


def test_too_many_bytes_are_refused(tmp_path):
    refused(packed(member("big", bytes(3 << 20))), tmp_path, "more than 1 MiB", most_bytes=1 << 20)


def test_a_small_archive_that_unpacks_to_a_lot_is_refused(tmp_path):
    bomb = packed(member("a.py")) + gzip.compress(bytes(64 << 20))
    refused(bomb, tmp_path, "more than it may hold", most_bytes=1 << 20, most_files=10)


def test_an_oversized_header_is_refused_before_it_is_read(tmp_path):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 29
    refused(gzip.compress(info.tobuf(tarfile.USTAR_FORMAT)), tmp_path, "oversized header")


def test_a_sparse_file_that_claims_a_lot_is_refused(tmp_path):
    info = tarfile.TarInfo("sparse")
    info.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 40), "GNU.sparse.name": "sparse"}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)
    refused(raw.getvalue(), tmp_path)


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_an_archive_that_was_cut_off_is_refused(tmp_path, keep):
    whole = packed(*(member(f"f{n}", os.urandom(2000)) for n in range(20)))
    refused(whole[: int(len(whole) * keep)], tmp_path, "damaged")


def test_an_archive_with_a_wrong_bit_is_refused(tmp_path):
    whole = bytearray(packed(*(member(f"f{n}", os.urandom(2000)) for n in range(20))))
    whole[-6] ^= 1  # in the checksum
    refused(bytes(whole), tmp_path, "damaged")


@pytest.mark.parametrize("data", [b"", b"not gzip", gzip.compress(b"not a tar" * 1000)])
def test_what_is_no_archive_is_refused(tmp_path, data):
    refused(data, tmp_path, "damaged")
