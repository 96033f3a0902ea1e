"""Unpack an archive of code that came over the network: nothing in it is believed.

Plain files, folders and links that stay inside; each name once; bounded in number and size, headers included. It
appears under its name whole or not at all.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import secrets
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dreamlake.lakeshore.code.archive import MOST_FILES, MOST_RAW_BYTES
from dreamlake.lakeshore.errors import WorkerError

if TYPE_CHECKING:
    from typing import Self

_MOST_HEADER = 64 << 10
_CHUNK = 1 << 20
_META = frozenset(b"xgLKX")
_BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)
_PLAIN_NAME = re.compile(r"[^\0\\]+")


def unpack(
    data: bytes, folder: Path, *, most_bytes: int = MOST_RAW_BYTES, most_files: int = MOST_FILES
) -> int:
    """Unpack a tar.gz into ``folder``, which appears when all is there; the bytes of its files.

    Where the folder exists already, it stays as it is. Raises ``WorkerError`` for an archive that is damaged, too
    large, or reaches out of its folder.
    """
    fresh = folder.parent / f".{folder.name[:64]}.{secrets.token_hex(8)}"
    try:
        fresh.mkdir(parents=True, mode=0o700)
        written = _Unpacking(fresh, most_bytes, most_files).run(data)
        try:
            fresh.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
        return written
    except _BROKEN as exc:
        raise WorkerError(f"the code archive is damaged ({exc}): push the code again") from exc
    except (OSError, ValueError) as exc:
        raise WorkerError(f"the code archive cannot be unpacked in {folder.parent}: {exc}") from exc
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


class _Unpacking:
    """One archive on its way into one folder."""

    def __init__(self, folder: Path, most_bytes: int, most_files: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._names: set[str] = set()
        self._links: dict[str, str] = {}
        self._written = 0

    def run(self, data: bytes) -> int:
        # Headers and padding come to at most 2 KiB a file, or tarfile is made to read what is no code.
        most = self._most_bytes + (self._most_files + 10) * 2048
        stream = _Bounded(gzip.GzipFile(fileobj=io.BytesIO(data)), most)
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as tar:
            for member in tar:
                self._take(tar, member)
        while stream.read(_CHUNK):  # to the end, where the checksum is
            pass
        self._link()
        return self._written

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        name = self._checked_name(member.name)
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if member.isdir():
            path.mkdir(exist_ok=True)
        elif member.issym():
            self._links[name] = member.linkname
        elif member.isreg() and not member.issparse():
            self._written += member.size
            if self._written > self._most_bytes:
                raise _refused(f"it holds more than {self._most_bytes >> 20} MiB")
            self._write(tar, member, path)
        else:
            raise _refused(f"{name!r} is neither a file nor a folder nor a symbolic link")

    def _checked_name(self, raw: str) -> str:
        path = PurePosixPath(raw)
        if not _PLAIN_NAME.fullmatch(raw) or path.is_absolute() or ".." in path.parts or not path.parts:
            raise _refused(f"it has a name that leads out of its folder: {raw[:100]!r}")
        name = str(path)
        if name in self._names:
            raise _refused(f"{name!r} is in it twice")
        if len(self._names) >= self._most_files:
            raise _refused(f"it holds more than {self._most_files} files")
        self._names.add(name)
        return name

    def _write(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        source = tar.extractfile(member)
        mode = 0o755 if member.mode & 0o100 else 0o644
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(fd, "wb") as file:
            if source is not None:
                shutil.copyfileobj(source, file, _CHUNK)
            if file.tell() != member.size:
                raise EOFError("it ends early")

    def _link(self) -> None:
        """Make the links, once nothing can be written through them, and see where they really lead."""
        for name, target in self._links.items():
            if not target or PurePosixPath(target).is_absolute() or "\0" in target:
                raise _refused(f"the link {name!r} leads out of its folder")
            (self._folder / name).symlink_to(target)
        top = Path(os.path.realpath(self._folder))
        for name in self._links:
            if not Path(os.path.realpath(self._folder / name)).is_relative_to(top):
                raise _refused(f"the link {name!r} leads out of its folder")


class _Member(tarfile.TarInfo):
    """Refuses headers that only exist to be large: tarfile reads an extended header into memory whole."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read one header. Raises ``WorkerError``."""
        member = super().frombuf(buf, encoding, errors)
        if member.type[0] in _META and member.size > _MOST_HEADER:
            raise _refused("it has an oversized header")
        return member


class _Bounded(io.RawIOBase):
    """Reads what a stream unpacks to, up to a limit."""

    def __init__(self, source: gzip.GzipFile, most: int) -> None:
        self._source = source
        self._left = most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(_CHUNK if size < 0 else size)
        self._left -= len(data)
        if self._left < 0:
            raise _refused("it unpacks to more than it may hold")
        return data


def _refused(why: str) -> WorkerError:
    return WorkerError(f"the code archive was refused: {why}")
