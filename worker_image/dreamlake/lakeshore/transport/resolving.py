"""From the ``fn`` field of an envelope to the callable, on a worker.

The gates, in order: may this worker run pickled functions at all; was this one pickled by a fitting
interpreter; does the imported source equal the submitter's.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.errors import TransportError, WorkerError
from dreamlake.lakeshore.transport.arms import INLINE_PICKLE_LIMIT
from dreamlake.lakeshore.transport.runtime import check_policy, check_runtime
from dreamlake.lakeshore.transport.source import file_digest, src_hash

if TYPE_CHECKING:
    from types import ModuleType

_MOST_REFERENCES = 4096
_MOST_PICKLES = 128

_references: dict[tuple[Any, ...], Callable[..., Any]] = {}
_pickles: OrderedDict[bytes, tuple[str, Callable[..., Any]]] = OrderedDict()
_digests: dict[
    str, tuple[Any, bytes | None]
] = {}  # module -> its spec and its file's hash when first used here


def resolve(
    fn: Mapping[str, Any],
    *,
    registry: Mapping[str, Callable[..., Any]] | None = None,
    allow_pickled: bool = False,
    runtime_policy: str = "minor",
) -> Callable[..., Any]:
    """Give the callable that an envelope's ``fn`` names or carries.

    A ``registry`` entry for its qualname (or ``module:qualname``) wins without any further check. What an
    import finds is returned as it is, a ``UDF`` as the ``UDF``. A callable that was resolved before is given again,
    so one that was shipped by value keeps its state between the invocations of one process.

    Raises ``WorkerError`` when it cannot be imported or loaded, or differs from the submitter's source;
    ``TransportError`` when a gate refuses it; ``ConfigError`` for an unknown ``runtime_policy``.
    """
    kind = fn.get("kind")
    try:
        if registry:
            named = registry.get(fn["qualname"]) or registry.get(f"{fn.get('module')}:{fn['qualname']}")
            if named is not None:
                return named
        if kind == "ref":
            expected = None if runtime_policy == "off" else fn.get("src_hash")
            key = (fn["module"], fn["qualname"], expected)
            found = _references.get(key)
            return _import_checked(*key, runtime_policy) if found is None else found
    except (KeyError, TypeError) as problem:
        raise TransportError(
            f"malformed function reference ({problem!r}): submit the invocation again"
        ) from problem
    if kind == "pickle":
        return _load_checked(fn, allow_pickled=allow_pickled, runtime_policy=runtime_policy)
    raise TransportError(f"unknown kind of function {kind!r}: upgrade lakeshore-kube on this worker")


def _import_checked(module: Any, qualname: Any, expected: Any, policy: str) -> Callable[..., Any]:
    check_policy(policy)
    if not isinstance(module, str) or not isinstance(qualname, str):
        raise TransportError("malformed function reference: submit the invocation again")
    home = _import(module, qualname)
    found: Any = home
    for part in qualname.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise _cannot_import(module, qualname, f"it has no {qualname!r}")
    if not callable(found):
        raise _cannot_import(
            module, qualname, f"{qualname!r} there is a {type(found).__qualname__}, not a function"
        )
    if expected is not None:
        _check_source(home, f"{module}:{qualname}", found, expected)
    if len(_references) >= _MOST_REFERENCES:
        _references.clear()
    _references[module, qualname, expected] = found
    return found  # type: ignore[no-any-return]


def _import(module: str, qualname: str) -> ModuleType:
    found = sys.modules.get(module)
    if found is None:
        try:
            # A module written after this process started may be missing from the finders' caches.
            importlib.invalidate_caches()
            found = importlib.import_module(module)
        except (Exception, SystemExit) as problem:
            raise _cannot_import(module, qualname, f"{type(problem).__name__}: {problem}") from problem
    known = _digests.get(module)
    if known is None or known[0] is not found.__spec__:  # new, or reloaded
        _digests[module] = (found.__spec__, file_digest(found))
    return found


def _cannot_import(module: str, qualname: str, reason: str) -> WorkerError:
    return WorkerError(
        f"cannot import module {module!r} ({module}:{qualname}): {reason}. Start the worker in the project that "
        f"holds it, or pass registry={{{qualname!r}: fn}} to run_worker"
    )


def _check_source(home: ModuleType, name: str, found: Any, expected: Any) -> None:
    """The third gate. A file that was edited after its import would hash as code that is not what runs."""
    actual = src_hash(found)
    if actual is None:
        return
    if file_digest(home) != _digests[name.partition(":")[0]][1]:
        raise WorkerError(f"{name} changed on disk after this worker imported it: restart the worker")
    if actual != expected:
        raise WorkerError(
            f"the source of {name} here ({actual}) is not the submitter's ({expected}): bring both to the same "
            "version and restart the worker, or start it with --runtime-policy off"
        )


def _load_checked(fn: Mapping[str, Any], *, allow_pickled: bool, runtime_policy: str) -> Callable[..., Any]:
    if not allow_pickled:
        where = fn.get("where") or fn.get("qualname")
        raise TransportError(
            f"this worker refuses pickled functions, and {where} was shipped by value: move it to an importable "
            "module, or start the worker with --allow-pickled if you trust the producers"
        )
    check_runtime(fn.get("runtime"), runtime_policy)
    blob, claimed = fn.get("blob"), fn.get("hash")
    if type(blob) is not bytes:
        raise TransportError("the pickled function carries no bytes: submit the invocation again")
    known = _pickles.get(blob)
    if known is not None and known[0] == claimed:
        return known[1]
    if "sha256:" + hashlib.sha256(blob).hexdigest() != claimed:
        raise TransportError(
            "the pickled function does not match its hash: it was damaged or altered on the way"
        )
    loaded = _load(blob, fn)
    if len(blob) <= INLINE_PICKLE_LIMIT:
        _pickles[blob] = (claimed, loaded)
        if len(_pickles) > _MOST_PICKLES:
            _pickles.popitem(last=False)
    return loaded


def _load(blob: bytes, fn: Mapping[str, Any]) -> Callable[..., Any]:
    where = fn.get("where") or fn.get("qualname")
    try:
        loaded = pickle.loads(blob)
    except (Exception, SystemExit) as problem:
        raise WorkerError(
            f"cannot load the pickled function {where}: {type(problem).__name__}: {problem}. "
            "Install here what it uses, or ship it by reference"
        ) from problem
    if not callable(loaded):
        raise WorkerError(f"what was shipped as {where} is a {type(loaded).__qualname__}, not a function")
    return loaded  # type: ignore[no-any-return]
