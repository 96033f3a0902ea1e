"""Why a value of some type cannot travel, and what to do about it."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import os
from collections import deque
from collections.abc import Iterator
from typing import Any

_KNOWN_BASES = {
    "numpy.ndarray": "numpy.asarray(value) (it drops what the subclass adds)",
    "numpy.dtype": "value.str",
    "torch.Tensor": "value.detach() (it drops what the subclass adds)",
    "torch.dtype": "str(value)",
    "pandas.DataFrame": "value.to_dict('list') or value.to_numpy()",
    "pandas.Series": "value.to_numpy()",
    "datetime.datetime": "a datetime.datetime",
}
"""Class, by its top-level package and name -> the packable form of its instances, or of its subclasses'."""


def refusal(value: Any) -> str:
    """Word the ``TypeError`` for a value that no codec takes."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__
    return f"cannot pack a {name}: {_way_out(value, kind)}"


def _way_out(value: Any, kind: type[Any]) -> str:
    register = (
        f"register a codec on both sides: wire.register(wire.Codec(40, {kind.__name__}, "
        f"encode=<{kind.__name__} to packable>, decode=<back>))"
    )
    if isinstance(value, enum.Enum):
        return f"send its .value (or .name) and rebuild it with {kind.__name__}(value), or {register}"
    if dataclasses.is_dataclass(kind):
        return (
            "send dataclasses.asdict(value), or register it on both sides: wire.register(wire.Codec(40, "
            f"{kind.__name__}, encode=vars, decode=lambda d: {kind.__name__}(**d)))"
        )
    if inspect.isroutine(value):
        return "a function travels as a udf or a thunk, not as a value: send its name"
    if hasattr(kind, "model_dump") and hasattr(kind, "model_validate"):
        return (
            "send value.model_dump(), or register it on both sides: wire.register(wire.Codec(40, "
            f"{kind.__name__}, encode={kind.__name__}.model_dump, decode={kind.__name__}.model_validate))"
        )
    plain = _plain_form(value, kind)
    return f"send {plain}, or {register}" if plain else register


def _plain_form(value: Any, kind: type[Any]) -> str | None:
    """Name the expression that gives a packable value, where there is an obvious one."""
    for base in kind.__mro__:
        found = _KNOWN_BASES.get(f"{base.__module__.partition('.')[0]}.{base.__qualname__}")
        if found is not None:
            return found
    if isinstance(value, type):
        return "value.__qualname__"
    if isinstance(value, os.PathLike):
        return "str(value)"
    if isinstance(value, BaseException):
        return "str(value), or raise it"
    if isinstance(value, tuple | list | dict | set | frozenset | str | bytes | int | float | complex):
        plain = next(base for base in kind.__mro__ if base.__module__ == "builtins")
        return f"{plain.__name__}(value) (it drops what {kind.__name__} adds)"
    if isinstance(value, Iterator | range | deque):
        return "list(value)"
    return None
