"""Unpacked code on a worker's machine: each archive once, for all workers there, the least used ones removed.

Beside each folder lies a file whose lock says who uses it: shared while code may be imported from it, exclusive while
it is unpacked or removed. Its content is the folder's size in bytes, its time of change the last use.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dreamlake.lakeshore.code.unpacking import unpack
from dreamlake.lakeshore.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_CACHED_BYTES = 10 << 30
_LOCK_LIMIT_S = 600.0
_LOOK_S = 0.05


class CodeMount:
    """One unpacked archive, kept from being removed until ``release``."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    def release(self) -> None:
        """Let it be removed when room is needed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class CodeCache:
    """Archives unpacked below ``folder``. Used by several workers, threads and users of one home at a time."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_CACHED_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def mount(self, scope: str, code_id: str, fetch: Callable[[], bytes]) -> CodeMount:
        """Give the folder of an archive; the first who asks calls ``fetch`` for it while the others wait.

        ``scope`` and ``code_id`` name it: what one control plane or namespace calls so is not what another does.
        Raises ``WorkerError``, and what ``fetch`` raises.
        """
        name = hashlib.sha256(f"{scope}\0{code_id}".encode()).hexdigest()[:40]
        path = self._folder / name
        self._make_folder()
        ends = time.monotonic() + _LOCK_LIMIT_S
        while True:
            fd = self._open(name)
            try:
                if self._use(fd, path, ends) or self._fill(fd, path, ends, fetch):
                    return CodeMount(path, fd)
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)  # somebody removed it in between: again

    def _use(self, fd: int, path: Path, ends: float) -> bool:
        _lock(fd, fcntl.LOCK_SH, ends)
        if os.fstat(fd).st_nlink == 0 or not path.is_dir():
            return False
        os.utime(fd)
        return True

    def _fill(self, fd: int, path: Path, ends: float, fetch: Callable[[], bytes]) -> bool:
        _lock(fd, fcntl.LOCK_EX, ends)
        if os.fstat(fd).st_nlink == 0:
            return False
        if not path.is_dir():
            size = unpack(fetch(), path)
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(size).encode(), 0)
        self._prune()
        return self._use(fd, path, ends)

    def _prune(self) -> None:
        """Remove the least recently used that nobody uses, until the rest fits."""
        entries = sorted(self._folder.glob("*.lock"), key=_used_at)
        total = sum(_size_of(entry) for entry in entries)
        for entry in entries:
            if total <= self._most_bytes:
                return
            size = _size_of(entry)
            if self._remove(entry):
                total -= size

    def _remove(self, entry: Path) -> bool:
        try:
            fd = os.open(entry, os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(entry.with_suffix(""), ignore_errors=True)
            entry.unlink(missing_ok=True)
        except BlockingIOError:
            return False
        finally:
            os.close(fd)
        return True

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        except OSError as exc:
            raise WorkerError(
                f"the folder for code {self._folder} cannot be made ({exc.strerror}): set LAKESHORE_HOME to "
                "a folder that you can write to"
            ) from exc

    def _open(self, name: str) -> int:
        return os.open(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)


def _lock(fd: int, how: int, ends: float) -> None:
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                raise WorkerError(
                    f"another worker has not unpacked this code within {_LOCK_LIMIT_S:g} s: is it frozen?"
                ) from None
            time.sleep(_LOOK_S)
        else:
            return


def _used_at(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _size_of(entry: Path) -> int:
    try:
        return int(entry.read_text() or 0)
    except (OSError, ValueError):
        return 0
