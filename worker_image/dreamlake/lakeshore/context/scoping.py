"""``scope``: the path below a root in which keys are meant."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dreamlake.lakeshore.context.keys import locate
from dreamlake.lakeshore.context.run_context import (
    RunContext,
    current_context,
    enter_context,
    leave_context,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def scope(sub: str = "", *, root: Path | str | None = None) -> Iterator[RunContext]:
    """Open a scope: keys of ``run.read`` and ``run.write`` are meant below it, here and in submitted calls.

    ``sub`` is a relative POSIX path, joined to the scope around this one; ``..`` in it may climb, not out of
    the root. ``root`` starts afresh in another directory. A submitted call carries the path and not the
    root, which is the worker's own. Raises ``KeyContractError``.

    >>> with scope("scenes"), scope("0007"):
    ...     path = run.write("depth.png")    # <root>/scenes/0007/depth.png
    """
    outer = current_context()
    if root is None:
        inner = outer.below(sub)
    else:
        inner = RunContext(
            root=Path(root),
            prefix=locate("", sub),
            invocation_id=outer.invocation_id,
            attempt=outer.attempt,
        )
    token = enter_context(inner)
    try:
        yield inner
    finally:
        leave_context(token)
