"""The stamp of the interpreter that pickled a function, and whether this one may unpickle it."""

from __future__ import annotations

import pickle
import platform
import sys
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from dreamlake.lakeshore.errors import ConfigError, TransportError

RuntimePolicy: TypeAlias = Literal["strict", "minor", "off"]
RUNTIME_POLICIES: tuple[str, ...] = get_args(RuntimePolicy)

PICKLE_PROTOCOL = 5


def runtime_stamp() -> dict[str, Any]:
    """Describe this interpreter: python, impl, cloudpickle, pickle_protocol, platform."""
    return dict(_stamp())


@lru_cache(maxsize=1)
def _stamp() -> dict[str, Any]:
    import cloudpickle  # noqa: PLC0415 - only when a function travels by value

    return {
        "python": platform.python_version(),
        "impl": sys.implementation.name,
        "cloudpickle": cloudpickle.__version__,
        "pickle_protocol": PICKLE_PROTOCOL,
        "platform": f"{platform.system().lower()}-{platform.machine()}",
    }


def check_policy(policy: str) -> None:
    """Raise ``ConfigError`` for a runtime policy that does not exist."""
    if policy not in RUNTIME_POLICIES:
        raise ConfigError(f"runtime policy {policy!r}: use one of {', '.join(RUNTIME_POLICIES)}")


def check_runtime(stamp: Any, policy: str = "minor") -> None:
    """Raise ``TransportError`` unless a function with this stamp may be unpickled here.

    ``strict``: the same python and cloudpickle. ``minor``: the same major.minor python and major cloudpickle.
    ``off``: anything.
    """
    check_policy(policy)
    if policy == "off" or stamp == _stamp():
        return
    if not isinstance(stamp, dict):
        raise TransportError(
            "the pickled function does not say which Python made it: submit it with a current lakeshore-kube, "
            "or start the worker with --runtime-policy off"
        )
    here = _stamp()
    digits = {"python": 2, "cloudpickle": 1} if policy == "minor" else {"python": 9, "cloudpickle": 9}
    for name in ("impl", "python", "cloudpickle"):
        theirs, ours = str(stamp.get(name)), str(here[name])
        if _first(theirs, digits.get(name, 9)) != _first(ours, digits.get(name, 9)):
            raise TransportError(_mismatch(name, theirs, ours, policy))
    protocol = stamp.get("pickle_protocol", PICKLE_PROTOCOL)
    if not isinstance(protocol, int) or protocol > pickle.HIGHEST_PROTOCOL:
        raise TransportError(_mismatch("pickle protocol", protocol, pickle.HIGHEST_PROTOCOL, policy))


def _first(version: str, parts: int) -> list[str]:
    return version.split(".")[:parts]


def _mismatch(name: str, theirs: object, ours: object, policy: str) -> str:
    return (
        f"the function was pickled under {name} {theirs} and this worker has {ours} (runtime policy {policy!r}): "
        "use the same versions on both sides, move the function to an importable module, "
        "or start the worker with --runtime-policy off"
    )
