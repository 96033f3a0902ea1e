"""The Lakeshore home: ``$LAKESHORE_HOME``, by default ``~/.lakeshore``."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from dreamlake.lakeshore.errors import ConfigError

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.plane import Plane

_lock = threading.Lock()
_default: Plane | None = None


def home() -> Path:
    """Give the home folder, made with mode 0700 where it was missing.

    Raises ``ConfigError`` when it cannot be made or written to.
    """
    given = os.environ.get("LAKESHORE_HOME")
    try:
        path = Path(given).expanduser() if given else Path.home() / ".lakeshore"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise ConfigError(
            f"the Lakeshore home {given or '~/.lakeshore'} cannot be made ({reason}): "
            "set LAKESHORE_HOME to a folder that you can write to"
        ) from exc
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(
            f"the Lakeshore home {path} cannot be written to: make it yours, "
            "or set LAKESHORE_HOME to a folder that you can write to"
        )
    return path


def dispatch_path() -> Path:
    """Give the file of the local plane. Raises ``ConfigError`` like ``home``."""
    return home() / "dispatch.sqlite"


def open_plane(
    url: str | None, *, token: str | None = None, namespace: str = "default", patience_s: float = 30.0
) -> Plane:
    """Open the control plane at ``url``, else the local plane: the SQLite file under the home.

    ``patience_s``: how long a control plane that does not answer is asked again before a call fails.
    Raises ``ConfigError`` for a value that cannot be one, and when the local plane cannot be opened.
    """
    if url:
        from dreamlake.lakeshore.dispatch import HttpDispatch  # noqa: PLC0415 - only what is used is loaded

        return HttpDispatch(url, token=token, namespace=namespace, timeout=patience_s)
    from dreamlake.lakeshore.dispatch import Dispatch  # noqa: PLC0415

    return Dispatch(dispatch_path(), ns=namespace)


def default_plane() -> Plane:
    """Give the process's default plane, chosen once from the environment.

    It is the control plane of ``LAKESHORE_URL``, spoken to with ``LAKESHORE_CLIENT_TOKEN``, else the SQLite file
    under the home; in the namespace of ``LAKESHORE_NAMESPACE`` (else ``default``). Raises as ``open_plane`` does.
    """
    global _default  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _default is None:
            env = os.environ.get
            _default = open_plane(
                env("LAKESHORE_URL"),
                token=env("LAKESHORE_CLIENT_TOKEN"),
                namespace=env("LAKESHORE_NAMESPACE") or "default",
            )
        return _default


def use_plane(url: str | None, *, token: str | None, namespace: str) -> None:
    """Make these the default plane's settings, also for the processes that this one starts."""
    given = {"LAKESHORE_URL": url, "LAKESHORE_CLIENT_TOKEN": token, "LAKESHORE_NAMESPACE": namespace}
    for name, value in given.items():
        if value:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - a thread that the child does not have may hold the parent's
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
