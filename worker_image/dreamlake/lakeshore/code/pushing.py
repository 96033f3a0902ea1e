"""Bring the code that this process runs from to a control plane, once for each commit."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dreamlake.lakeshore.errors import DispatchError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dreamlake.lakeshore.code.archive import CodeArchive

_TRIES = 3
_lock = threading.Lock()
_pushed: dict[tuple[str, Path], _Pushed] = {}
_roots: dict[Path, Path] = {}


class CodeStore(Protocol):
    """What a plane has that keeps code for its workers."""

    @property
    def code_scope(self) -> str:
        """Name the control plane and the namespace: the same code id means something else elsewhere."""

    def announce_code(
        self, *, remote: str, commit: str, dirty: bool, size: int, sha256: str
    ) -> Mapping[str, Any]:
        """Ask whether the archive is there: ``{code_repo_id, exists, upload?: {url, headers}}``.

        Raises ``RefusedError`` where the server keeps no code, or not so much.
        """

    def upload_code(self, code_repo_id: str, data: bytes, upload: Mapping[str, Any] | None) -> None:
        """Bring the archive: a PUT to ``upload["url"]`` with exactly ``upload["headers"]``, else to the server."""

    def fetch_code(self, code_repo_id: str) -> bytes:
        """Give an archive. Raises ``DispatchError`` when it cannot now, one below it when it never will."""


class _Pushed:
    """What was pushed of one tree."""

    def __init__(self, code_repo_id: str, archive: CodeArchive) -> None:
        self.code_repo_id = code_repo_id
        self.remote, self.commit, self.dirty = archive.remote, archive.commit, archive.dirty
        self.root, self.folders = archive.root, archive.folders


def push_code(store: CodeStore, path: Path | str | None = None, *, again: bool = False) -> dict[str, Any]:
    """Push the git tree that ``path`` (by default the current folder) lies in, and give the stamp for envelopes.

    The stamp: ``{"code": {"id", "remote", "commit", "dirty", "paths"}}``; ``paths`` are the folders of the tree that
    this process imports from, in the order of ``sys.path``. A tree is looked at once in a process, unless ``again``.
    Raises ``ConfigError`` as ``archive_tree`` does, and ``DispatchError`` when it cannot be brought.
    """
    folder = Path.cwd() if path is None else Path(path)
    with _lock:
        root = _roots.get(folder)
        known = None if root is None or again else _pushed.get((store.code_scope, root))
        if known is None:
            known = _push(store, folder)
            _roots[folder] = known.root
            _pushed[store.code_scope, known.root] = known
    return {
        "code": {
            "id": known.code_repo_id,
            "remote": known.remote,
            "commit": known.commit,
            "dirty": known.dirty,
            "paths": _import_paths(known),
        }
    }


def _push(store: CodeStore, folder: Path) -> _Pushed:
    from dreamlake.lakeshore.code.archive import archive_tree  # noqa: PLC0415 - only where code is pushed

    archive = archive_tree(folder)
    for _ in range(_TRIES):
        answer = store.announce_code(
            remote=archive.remote,
            commit=archive.commit,
            dirty=archive.dirty,
            size=archive.size,
            sha256=archive.sha256,
        )
        code_repo_id, upload = str(answer["code_repo_id"]), answer.get("upload")
        if answer["exists"] or _upload(store, code_repo_id, archive.data, upload):
            return _Pushed(code_repo_id, archive)
    raise DispatchError(f"the code of {archive.root} did not arrive at the control plane: try again")


def _upload(store: CodeStore, code_repo_id: str, data: bytes, upload: Mapping[str, Any] | None) -> bool:
    """Whether the archive is known to be there; after an upload by URL, announcing it again tells."""
    try:
        store.upload_code(code_repo_id, data, upload)
    except RefusedError:
        return False  # somebody announced the same commit with other bytes meanwhile
    return upload is None


def _import_paths(pushed: _Pushed) -> list[str]:
    found: dict[str, None] = {}
    for entry in sys.path:
        try:
            relative = Path(entry or ".").resolve().relative_to(pushed.root).as_posix()
        except (OSError, ValueError):
            continue
        name = "" if relative == "." else relative
        if name in pushed.folders:
            found[name] = None
    return list(found)
