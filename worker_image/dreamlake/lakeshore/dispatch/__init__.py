"""Dispatch planes: where invocation rows and frame journals live.

>>> from dreamlake.lakeshore.dispatch import Dispatch
>>> plane = Dispatch(":memory:")

``HttpDispatch(url)`` is the plane of a control plane. Both are loaded when they are first used: most parts need the
types of ``dispatch.plane`` alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.plane import HttpDispatch
    from dreamlake.lakeshore.dispatch.sqlite.plane import Dispatch

__all__ = ["Dispatch", "HttpDispatch"]

_HOMES = {"Dispatch": "sqlite.plane", "HttpDispatch": "http.plane"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
