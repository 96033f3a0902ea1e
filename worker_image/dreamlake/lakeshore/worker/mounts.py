"""The code that claims run from: fetched from the plane by threads of its own, while the worker goes on."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.code import CodeCache, CodeMount
from dreamlake.lakeshore.dispatch.plane import Claimed, Plane
from dreamlake.lakeshore.errors import DispatchError, WireError, WorkerError

if TYPE_CHECKING:
    from dreamlake.lakeshore.code import CodeStore

Paths: TypeAlias = tuple[str, ...]
"""Folders that go first on ``sys.path``; empty for the worker's own code."""

_MARK = wire.pack("code")
_KEPT = 8
_AGAIN_S = 1.0
"""Seconds until a plane that does not answer now is asked again."""

log = logging.getLogger("lakeshore.worker")


class Code(NamedTuple):
    """What an envelope's stamp names: an archive of the plane, and the folders in it to import from."""

    id: str
    paths: Paths


def code_of(envelope: bytes) -> Code | None:
    """Read the stamp of an envelope; None where it has none (a broken envelope is reported by who runs it)."""
    if _MARK not in envelope:
        return None
    try:
        stamp = wire.Envelope.from_bytes(envelope).cfg.get("code")
    except WireError:
        return None
    if not isinstance(stamp, dict) or not isinstance(stamp.get("id"), str):
        return None
    paths = stamp.get("paths")
    named = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
    return Code(stamp["id"], tuple(dict.fromkeys([*named, ""])))


class Mounts:
    """Unpacked code below ``folder``. ``fileno`` is readable when a fetch has ended.

    On a plane that keeps no code every claim runs from the worker's own.
    """

    def __init__(self, plane: Plane, folder: Path) -> None:
        self._store = cast("CodeStore", plane) if hasattr(plane, "fetch_code") else None
        self._cache = CodeCache(folder)
        self._mounted: dict[str, CodeMount] = {}
        self._failed: dict[str, Exception] = {}
        self._fetching: set[str] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def code_of(self, job: Claimed) -> Code | None:
        """Give the code that a claim is to run from, or None for the worker's own."""
        return None if self._store is None else code_of(job.envelope)

    def look(self, code: Code) -> Paths | Exception | None:
        """Give where code lies, or why it cannot be had (asked again, it is tried again), or None: it is coming.

        A plane that does not answer is waited for.
        """
        with self._lock:
            mount = self._mounted.get(code.id)
            failure = self._failed.pop(code.id, None)
            if mount is None and failure is None and code.id not in self._fetching:
                self._fetching.add(code.id)
                threading.Thread(
                    target=self._fetch, args=(code.id,), name="lakeshore-code", daemon=True
                ).start()
        return failure if mount is None else _inside(mount.path, code.paths)

    def trim(self, used: AbstractSet[Paths]) -> None:
        """Let go of code that no process runs from, beyond the last few."""
        roots = {path for paths in used for path in paths}
        with self._lock:
            for code_id, mount in list(self._mounted.items()):
                if len(self._mounted) > _KEPT and os.fspath(mount.path) not in roots:
                    self._mounted.pop(code_id).release()

    def _fetch(self, code_id: str) -> None:
        mount: CodeMount | None = None
        failure: Exception | None = None
        while mount is None and failure is None and not self._closed:
            try:
                mount = self._mount(code_id)
            except Exception as exc:
                if type(exc) is not DispatchError:
                    failure = exc  # whatever it is, it is the end of those who wait for it
                    break
                log.warning("could not fetch the code %s, trying again: %s", code_id, exc)
                time.sleep(_AGAIN_S)
        with self._lock:
            self._fetching.discard(code_id)
            if self._closed:
                if mount is not None:
                    mount.release()
                return
            if mount is not None:
                self._mounted[code_id] = mount
            elif failure is not None:
                self._failed[code_id] = failure
            with contextlib.suppress(BlockingIOError):
                os.write(self._write, b"!")

    def _mount(self, code_id: str) -> CodeMount:
        store = cast("CodeStore", self._store)
        return self._cache.mount(store.code_scope, code_id, lambda: store.fetch_code(code_id))

    def fileno(self) -> int:
        """Give the descriptor that is readable after a fetch."""
        return self._read

    def clear(self) -> None:
        """Take the wake-ups that wait."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)

    def close(self) -> None:
        """Let go of everything; a fetch that still runs is forgotten."""
        with self._lock:
            self._closed = True
            for mount in self._mounted.values():
                mount.release()
            self._mounted.clear()
            os.close(self._read)
            os.close(self._write)


def _inside(root: Path, paths: Paths) -> Paths | Exception:
    found = []
    for name in paths:
        path = Path(os.path.realpath(root / name))
        if not path.is_relative_to(os.path.realpath(root)):
            return WorkerError(f"the code to run from names a folder outside of it: {name[:100]!r}")
        found.append(os.fspath(root / name if name else root))
    return tuple(found)
