"""From a callable to the ``fn`` field of an envelope: by reference where an import finds it, else by value."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias, get_args
from weakref import WeakKeyDictionary

from dreamlake.lakeshore.errors import ConfigError, TransportError
from dreamlake.lakeshore.transport.runtime import PICKLE_PROTOCOL, runtime_stamp
from dreamlake.lakeshore.transport.source import qualname_of, source_of, src_hash, where_is

Transport: TypeAlias = Literal["auto", "ref", "pickle"]

INLINE_PICKLE_LIMIT = 32 * 1024
"""Largest pickled function in bytes. More is captured data, which belongs into the arguments."""

_SOURCE_CHARACTERS = 8192
_references: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_by_value = threading.RLock()  # cloudpickle's list of modules to take by value is the process's


def function_arm(fn: Any, transport: str | None = None) -> dict[str, Any]:
    """Give the ``fn`` field for a callable, or for a holder of one (``UDF``, ``Thunk``: ``.fn``, ``.transport``).

    ``auto`` ships by reference whatever a worker can import, and by value the rest: a lambda, a function inside
    a function, one of ``__main__``, a bound method, an instance without a ``__qualname__``. A reference is
    computed once per function; a pickle is a snapshot, taken anew each time. Raises ``TransportError`` when
    ``ref`` is asked of what cannot be imported, when pickling fails, or gives more than
    ``INLINE_PICKLE_LIMIT`` bytes.
    """
    if transport is None:
        transport = getattr(fn, "transport", "auto")
    if transport not in get_args(Transport):
        raise ConfigError(f"transport {transport!r}: use one of {', '.join(get_args(Transport))}")
    if transport != "pickle":
        known = _known(fn)
        if known is not None:
            return dict(known)
    body = _body(fn)
    if not callable(body):
        raise TransportError(
            f"a {type(body).__qualname__} cannot be called, so it cannot be shipped as a function"
        )
    reason = None if transport == "pickle" else _obstacle(body)
    if transport == "pickle" or (transport == "auto" and reason is not None):
        return _pickle_arm(body)
    if reason is not None:
        raise TransportError(
            f"{where_is(body)} cannot be shipped by reference: {reason}. Move it to a module that the worker can "
            'import, or use transport="pickle"'
        )
    return dict(_reference(fn, body))


def is_importable(fn: Any) -> bool:
    """Tell whether ``auto`` ships this callable by reference."""
    return _obstacle(_body(fn)) is None


def _body(fn: Any) -> Any:
    """Take the callable out of a holder."""
    return fn.fn if hasattr(fn, "transport") and hasattr(fn, "fn") else fn


def _known(fn: Any) -> dict[str, Any] | None:
    try:
        return _references.get(fn)
    except TypeError:  # not hashable
        return None


def _reference(fn: Any, body: Any) -> dict[str, Any]:
    arm = {
        "kind": "ref",
        "module": body.__module__,
        "qualname": body.__qualname__,
        "src_hash": src_hash(body),
    }
    try:
        _references[fn] = arm
    except TypeError:
        return arm
    return arm


def _obstacle(fn: Any) -> str | None:
    """Say what keeps a worker from importing this callable, or None."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        return "it is an instance without a name of its own"
    owner = getattr(fn, "__self__", None)
    if owner is not None and not isinstance(owner, type | ModuleType):
        return f"it is bound to an instance of {type(owner).__qualname__}"
    if "<lambda>" in name:
        return "it is a lambda"
    if "<locals>" in name:
        return "it is defined inside a function"
    if module == "__main__":
        return "it is defined in __main__, which is another module on a worker"
    found: Any = sys.modules.get(module)
    if found is None:
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        return f"module {module} has no {name}"
    if isinstance(owner, type) and found != fn:
        return f"it is bound to {owner.__qualname__}, which inherits it"
    return None


def _pickle_arm(fn: Any) -> dict[str, Any]:
    where = where_is(fn)
    try:
        blob = _snapshot(fn)
    except Exception as problem:
        raise TransportError(
            f"cannot pickle {where}: {type(problem).__name__}: {problem}. "
            "Make what it captures inside the function, or pass it as an argument"
        ) from problem
    if len(blob) > INLINE_PICKLE_LIMIT:
        raise TransportError(
            f"{where} is {len(blob) / 1024:.1f} KiB when pickled, above the limit of "
            f"{INLINE_PICKLE_LIMIT // 1024} KiB: it captures data. Pass the data as arguments instead"
        )
    source = source_of(fn)
    return {
        "kind": "pickle",
        "blob": blob,
        "hash": "sha256:" + hashlib.sha256(blob).hexdigest(),
        "source": None if source is None else source[:_SOURCE_CHARACTERS],
        "qualname": qualname_of(fn),
        "where": where,
        "runtime": runtime_stamp(),
    }


def _snapshot(fn: Any) -> bytes:
    """Pickle a function, one of the program's own modules by value with all that it uses of that module."""
    import cloudpickle  # noqa: PLC0415 - only when a function travels by value

    module = sys.modules.get(fn.__module__) if _obstacle(fn) is None else None
    with _by_value:
        # cloudpickle only names what an import would find. That is right for installed packages, but a program's
        # own module is to be snapshot with the function.
        by_value = cloudpickle.list_registry_pickle_by_value()
        if module is None or is_installed(module) or module.__name__ in by_value:
            return cloudpickle.dumps(fn, protocol=PICKLE_PROTOCOL)  # type: ignore[no-any-return]
        cloudpickle.register_pickle_by_value(module)
        try:
            return cloudpickle.dumps(fn, protocol=PICKLE_PROTOCOL)  # type: ignore[no-any-return]
        finally:
            cloudpickle.unregister_pickle_by_value(module)


def is_installed(module: ModuleType) -> bool:
    """Tell whether a module belongs to the interpreter or to an installed package, not to the program itself."""
    path = getattr(module, "__file__", None)
    if path is None:
        return True
    roots = map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))
    return any(Path(path).is_relative_to(root) for root in roots)
