"""The source of a callable: its hash, its text, and where it stands."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from types import ModuleType

# Reading source costs about a millisecond; a function object's source does not change.
_sources: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()
_hashes: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()


def source_of(fn: Any) -> str | None:
    """Give the source text of the undecorated function, or None where there is none to be found."""
    try:
        return _sources[fn]
    except (KeyError, TypeError):  # not seen yet; or neither hashable nor weakly referable
        pass
    try:
        found: str | None = inspect.getsource(inspect.unwrap(fn))
    except Exception:  # built-ins, exec, a file that is gone or edited: inspect fails in many ways
        found = None
    _keep(_sources, fn, found)
    return found


def src_hash(fn: Any) -> str | None:
    """Give ``sha256:`` and 16 hex digits over the undecorated function's source, or None without source."""
    try:
        return _hashes[fn]
    except (KeyError, TypeError):
        pass
    source = source_of(fn)
    found = None if source is None else "sha256:" + hashlib.sha256(source.encode()).hexdigest()[:16]
    _keep(_hashes, fn, found)
    return found


def where_is(fn: Any) -> str:
    """Say where a callable was written: ``<lambda> (/path/x.py:12)``."""
    name = qualname_of(fn)
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def qualname_of(fn: Any) -> str:
    """Give the qualified name, that of the class for an instance without one of its own."""
    name = getattr(fn, "__qualname__", None)
    return name if isinstance(name, str) else type(fn).__qualname__


def file_digest(module: ModuleType) -> bytes | None:
    """Hash a module's source file as it is on disk now, or None when it has none."""
    path = getattr(module, "__file__", None)
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest() if path else None
    except OSError:
        return None


def _keep(cache: WeakKeyDictionary[Any, str | None], fn: Any, found: str | None) -> None:
    try:
        cache[fn] = found
    except TypeError:
        return
