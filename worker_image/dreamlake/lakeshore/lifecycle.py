"""Hooks for the life of a worker: once per host, once per process that runs bodies, and at the end.

>>> from dreamlake.lakeshore import lifecycle
>>> @lifecycle.on_run_setup
... def load() -> None:
...     global model
...     model = load_model()

Register them at the top of the module that holds the bodies. A worker imports that module when the first
invocation needs it, so setup hooks run right before a process's first body that could rely on them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, overload

from dreamlake.lakeshore.errors import ConfigError, WorkerError

if TYPE_CHECKING:
    from pathlib import Path

Phase: TypeAlias = Literal["setup", "ready", "draining"]
Hook: TypeAlias = Callable[[], object]
_H = TypeVar("_H", bound=Hook)

_lock = threading.RLock()
_host_setup: list[tuple[str, Hook]] = []
_run_setup: list[tuple[str, Hook]] = []
_shutdown: list[tuple[str, Hook]] = []
_phase: Phase = "setup"


@overload
def on_host_setup(fn: _H) -> _H: ...
@overload
def on_host_setup(*, key: str | None = None) -> Callable[[_H], _H]: ...
def on_host_setup(fn: _H | None = None, *, key: str | None = None) -> _H | Callable[[_H], _H]:
    """Run ``fn()`` once per host: a marker file under the Lakeshore home remembers ``key``.

    ``key`` defaults to the function's module and name; give a new one to have a changed hook run again.
    Processes that start at the same time wait for the one that runs it.
    """

    def register(hook: _H) -> _H:
        name = _name(hook)
        _check_key(key if key is not None else name)
        with _lock:
            _host_setup.append((key if key is not None else name, hook))
        return hook

    return register if fn is None else register(fn)


def on_run_setup(fn: _H) -> _H:
    """Run ``fn()`` once in each process that runs bodies, before the first of them."""
    with _lock:
        _run_setup.append((_name(fn), fn))
    return fn


def on_shutdown(fn: _H) -> _H:
    """Run ``fn()`` when a process that runs bodies ends in good order; the last registered goes first."""
    with _lock:
        _shutdown.append((_name(fn), fn))
    return fn


def phase() -> Phase:
    """Say where this process's worker is: in ``setup``, ``ready`` for work, or ``draining``."""
    return _phase


def set_phase(new: Phase) -> None:
    """Move on to another phase; for workers."""
    global _phase  # noqa: PLW0603 - a process has one phase
    _phase = new


def run_setup_hooks(home: Path) -> None:
    """Run the host and run setup hooks that have not run yet; next to free when there are none.

    For workers, before each body (its module may have registered some). Raises ``WorkerError`` naming the
    hook that failed; that one and those after it are tried again by the next call.
    """
    if not _host_setup and not _run_setup:
        return
    with _lock:
        while _host_setup:
            key, hook = _host_setup[0]
            _once_per_host(home / "host-setup", key, hook)
            del _host_setup[0]
        while _run_setup:
            name, hook = _run_setup[0]
            _run("run setup", name, hook)
            del _run_setup[0]


def run_shutdown_hooks() -> list[WorkerError]:
    """Run every shutdown hook, last registered first, and give the errors of those that failed."""
    failed: list[WorkerError] = []
    with _lock:
        while _shutdown:
            name, hook = _shutdown.pop()
            try:
                _run("shutdown", name, hook)
            except WorkerError as exc:
                failed.append(exc)
    return failed


def _once_per_host(markers: Path, key: str, hook: Hook) -> None:
    import fcntl  # noqa: PLC0415 - not on every system that can import this package

    try:
        markers.mkdir(parents=True, exist_ok=True)
        lock = os.open(markers / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise ConfigError(
            f"cannot keep host setup markers in {markers} ({exc.strerror}): "
            "make it writable, or set LAKESHORE_HOME to a directory that is"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        marker = markers / f"{key}.done"
        if not marker.exists():
            _run("host setup", key, hook)
            marker.touch()
    finally:
        os.close(lock)


def _run(what: str, name: str, hook: Hook) -> None:
    try:
        hook()
    except Exception as exc:
        raise WorkerError(
            f"{what} hook {name} failed: {type(exc).__name__}: {exc}: "
            "no body that may rely on it was started; correct the hook or what it needs"
        ) from exc


def _name(hook: Hook) -> str:
    return f"{hook.__module__}.{getattr(hook, '__qualname__', type(hook).__qualname__)}"


def _check_key(key: str) -> None:
    if not key or key.startswith(".") or "/" in key or "\0" in key or len(key) > 200:
        raise ConfigError(
            f"host setup key {key!r} cannot be a file name: "
            "use up to 200 characters without '/', not starting with '.'"
        )
