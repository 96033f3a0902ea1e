"""A git tree as one compressed archive: the same bytes for the same content."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from dreamlake.lakeshore.code.tree import Tree, read_tree
from dreamlake.lakeshore.errors import ConfigError

MOST_BYTES = 256 << 20
"""Bytes of an archive, compressed."""
MOST_RAW_BYTES = 1 << 30
"""Bytes of the files in an archive."""
MOST_FILES = 100_000
_NAMED = 5
_LEVEL = 6


@dataclass(frozen=True, slots=True)
class CodeArchive:
    """A tree as it is now. ``commit``: git's hash, or for a dirty tree one that is made of its content.

    ``data``: a tar.gz. ``sha256``: its digest in hex. ``folders``: the relative folders that hold a file ("" for the
    top).
    """

    root: Path
    remote: str
    commit: str
    dirty: bool
    data: bytes = field(repr=False)
    sha256: str
    folders: frozenset[str] = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)


def archive_tree(path: Path | str | None = None, *, most_bytes: int = MOST_BYTES) -> CodeArchive:
    """Archive the git tree that ``path`` (by default the current folder) lies in.

    Tracked files as they are on disk, and untracked ones that git does not ignore; submodules with their files.
    Raises ``ConfigError``: no git, no tree, too large (naming the largest files), a link that leads out.
    """
    tree = read_tree(Path.cwd() if path is None else Path(path))
    _check_size(tree)
    raw = _Digesting()
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=_LEVEL, mtime=0) as zipped:
        raw.sink = zipped
        with tarfile.open(fileobj=raw, mode="w|", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
            for name in tree.files:
                _add(tar, tree.root, name)
                if packed.tell() > most_bytes:
                    raise _too_large(tree, f"more than {most_bytes >> 20} MiB compressed")
    data = packed.getvalue()
    if len(data) > most_bytes:
        raise _too_large(tree, f"more than {most_bytes >> 20} MiB compressed")
    commit = tree.head if tree.head is not None and not tree.dirty else raw.digest.hexdigest()[:40]
    return CodeArchive(
        tree.root,
        tree.remote,
        commit,
        tree.dirty,
        data,
        hashlib.sha256(data).hexdigest(),
        _folders(tree.files),
    )


class _Digesting(io.RawIOBase):
    """Passes the tar on and hashes it: unlike the archive, it does not depend on the compression library."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.sink: gzip.GzipFile | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.digest.update(data)
        return 0 if self.sink is None else self.sink.write(data)


def _add(tar: tarfile.TarFile, root: Path, name: str) -> None:
    path = root / name
    info = tarfile.TarInfo(name)  # no owner, no time: they would tell two equal trees apart
    try:
        kind = path.lstat().st_mode
        if stat.S_ISLNK(kind):
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, _target(root, path), 0o777
            tar.addfile(info)
        elif stat.S_ISREG(kind):
            data = path.read_bytes()
            info.size, info.mode = len(data), 0o755 if kind & 0o100 else 0o644
            tar.addfile(info, io.BytesIO(data))
    except FileNotFoundError:
        return  # deleted this moment
    except OSError as exc:
        raise ConfigError(
            f"{path} cannot be read ({exc.strerror}): make it readable, or let git ignore it"
        ) from exc


def _target(root: Path, link: Path) -> str:
    target = os.readlink(link)  # noqa: PTH115 - as it is written: Path would tidy it
    if Path(target).is_absolute() or not Path(os.path.realpath(link)).is_relative_to(root):
        raise ConfigError(
            f"{link} is a link that leads out of the git tree (to {target}), and a worker has nothing there: "
            "let git ignore it, make it relative within the tree, or put a copy in its place"
        )
    return target


def _check_size(tree: Tree) -> None:
    if len(tree.files) > MOST_FILES:
        raise _too_large(tree, f"{len(tree.files)} files, and {MOST_FILES} can be pushed")
    total = sum(_size(tree.root / name) for name in tree.files)
    if total > MOST_RAW_BYTES:
        raise _too_large(tree, f"{total >> 20} MiB, and {MOST_RAW_BYTES >> 20} MiB can be pushed")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _too_large(tree: Tree, what: str) -> ConfigError:
    largest = sorted(((_size(tree.root / name), name) for name in tree.files), reverse=True)[:_NAMED]
    named = ", ".join(f"{name} ({size / (1 << 20):.1f} MiB)" for size, name in largest)
    return ConfigError(
        f"the git tree {tree.root} is too large to be pushed to workers: {what}. Largest: {named}. "
        "Let git ignore what is no code"
    )


def _folders(files: list[str]) -> frozenset[str]:
    found = {""}
    for name in files:
        folder = name.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(found)
