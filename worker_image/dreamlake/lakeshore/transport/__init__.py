"""How functions reach a worker: by reference, or by value behind three gates.

A producer turns a callable into the ``fn`` field of an envelope with ``function_arm``; a worker turns that back
into a callable with ``resolve``. Only the callable is ever pickled, never arguments, results or frames.
"""

from __future__ import annotations

from dreamlake.lakeshore.transport.arms import (
    INLINE_PICKLE_LIMIT,
    Transport,
    function_arm,
    is_importable,
    is_installed,
)
from dreamlake.lakeshore.transport.resolving import resolve
from dreamlake.lakeshore.transport.runtime import (
    RUNTIME_POLICIES,
    RuntimePolicy,
    check_runtime,
    runtime_stamp,
)
from dreamlake.lakeshore.transport.source import src_hash

__all__ = [
    "INLINE_PICKLE_LIMIT",
    "RUNTIME_POLICIES",
    "RuntimePolicy",
    "Transport",
    "check_runtime",
    "function_arm",
    "is_importable",
    "is_installed",
    "resolve",
    "runtime_stamp",
    "src_hash",
]
