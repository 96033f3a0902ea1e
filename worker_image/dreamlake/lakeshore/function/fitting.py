"""Whether arguments fit a function: told where the call is made, not on the worker that it has travelled to."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.function.body import Holder
from dreamlake.lakeshore.function.kinds import body_name
from dreamlake.lakeshore.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_OPTIONS = ("_key", "_priority", "_retries", "_timeout_s", "_deadline", "_delay_s", "_backoff")


def check_fit(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` unless ``fn(*args, **kwargs)`` is a possible call; an unknown option is told by name.

    A function whose parameters cannot be told is let through.
    """
    body = fn.fn if isinstance(fn, Holder) else fn
    try:
        signature = _signature(body)
    except TypeError:  # it cannot be hashed
        signature = _signature.__wrapped__(body)
    if signature is None:
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as exc:
        options = [name for name in kwargs if name.startswith("_") and name not in signature.parameters]
        hint = f"; {options[0]} is no option of a submit{nearest(options[0], _OPTIONS)}" if options else ""
        raise TypeError(f"{body_name(body)}() {exc}{hint}") from None


@lru_cache(maxsize=1024)
def _signature(body: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(body)
    except (TypeError, ValueError):
        return None
