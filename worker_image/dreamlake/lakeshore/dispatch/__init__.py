"""Dispatch planes: where invocation rows and frame journals live.

>>> from dreamlake.lakeshore.dispatch import Dispatch
>>> plane = Dispatch(":memory:")

``Dispatch`` is loaded when it is first used: most parts need the types of ``dispatch.plane`` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.sqlite.plane import Dispatch

__all__ = ["Dispatch"]


def __getattr__(name: str) -> Any:
    if name == "Dispatch":
        from dreamlake.lakeshore.dispatch.sqlite.plane import Dispatch  # noqa: PLC0415

        globals()[name] = Dispatch
        return Dispatch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
