"""The four kinds of body, told by how the function was defined."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

BodyKind: TypeAlias = Literal["sync", "async", "generator", "async_generator"]


def body_kind(fn: Callable[..., Any]) -> BodyKind:
    """Tell the kind of a function, a ``functools.partial`` of one, or an instance with ``__call__``."""
    for candidate in (fn, getattr(type(fn), "__call__", None)):  # noqa: B004 - its kind is asked
        if inspect.isasyncgenfunction(candidate):
            return "async_generator"
        if inspect.iscoroutinefunction(candidate):
            return "async"
        if inspect.isgeneratorfunction(candidate):
            return "generator"
    return "sync"


def body_name(fn: Callable[..., Any]) -> str:
    """Give the name that error messages call a body by."""
    return str(getattr(fn, "__qualname__", None) or type(fn).__qualname__)
