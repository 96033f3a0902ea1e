"""Blobs as files of one folder: for one machine and for tries.

Each file begins with the sha256 of the rest, so that a file that a crash or a full disk cut off is told apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.blobs.port import (
    BlobMissingError,
    BlobStat,
    Upload,
    check_key,
    checked,
)
from lakeshore_controlplane.store.blobs.threads import BlockingCalls

_T = TypeVar("_T")
_DIGEST = 32
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class FolderBlobs:
    """Keeps blobs under ``folder``, which is made when it is missing. There is nothing to presign."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = BlockingCalls("blob folder", threads=4)

    async def put(self, key: str, data: bytes) -> None:
        """See ``Blobs.put``."""
        path = self._path(key)
        await self._run(lambda: _write(path, data))

    async def get(self, key: str) -> bytes:
        """See ``Blobs.get``."""
        path = self._path(key)
        return await self._run(lambda: _read(path))

    async def stat(self, key: str) -> BlobStat | None:
        """See ``Blobs.stat``."""
        path = self._path(key)
        return await self._run(lambda: _stat(path))

    async def delete(self, keys: Sequence[str]) -> None:
        """See ``Blobs.delete``."""
        paths = [self._path(key) for key in keys]
        await self._run(lambda: _remove(paths))

    async def presign_put(self, key: str, size: int, sha256: str, ttl_s: float) -> Upload | None:
        """See ``Blobs.presign_put``."""
        return None

    async def presign_get(self, key: str, ttl_s: float) -> str | None:
        """See ``Blobs.presign_get``."""
        return None

    async def ping(self) -> None:
        """See ``Blobs.ping``."""
        await self._run(lambda: _probe(self._folder))

    async def close(self) -> None:
        """See ``Blobs.close``."""
        await asyncio.sleep(0)
        self._calls.close()

    def _path(self, key: str) -> Path:
        """Spread over 256 folders: a folder with a million files is slow to look through, by hand too."""
        folder, _, name = check_key(key).rpartition("/")
        return self._folder / folder / hashlib.sha256(name.encode()).hexdigest()[:2] / name

    async def _run(self, work: Callable[[], _T]) -> _T:
        def guarded() -> _T:
            with _naming_failures():
                return work()

        return await self._calls.run(guarded)


@contextlib.contextmanager
def _naming_failures() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        what = "is full" if exc.errno in _FULL else f"cannot be used ({exc.strerror})"
        raise StoreUnavailable(f"the blob folder {what}", retry_after_s=5.0) from exc


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with fresh.open("xb") as file:
            file.write(hashlib.sha256(data).digest())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make the new name as durable as the bytes."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            digest = file.read(_DIGEST)
            data = file.read()
    except FileNotFoundError:
        raise BlobMissingError(path.name) from None
    return checked(data, BlobStat(len(data), digest.hex()))


def _stat(path: Path) -> BlobStat | None:
    try:
        with path.open("rb") as file:
            digest = file.read(_DIGEST)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return None
    return BlobStat(max(0, size - _DIGEST), digest.hex())


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _probe(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
