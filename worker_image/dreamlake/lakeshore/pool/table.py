"""The live table of ``lakeshore up``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from dreamlake.lakeshore.pool.queue_pool import PoolView

_COLUMNS = ("queue", "queued", "running", "delayed", "done", "workers", "why")


def draw(views: Sequence[PoolView], *, stopping: str = "") -> Table:
    """Draw one row per queue; ``stopping`` is a line under the table."""
    table = Table(caption=stopping or "Ctrl-C drains, twice stops", caption_justify="left", expand=True)
    for name in _COLUMNS:
        table.add_column(
            name, justify="left" if name in {"queue", "why", "workers"} else "right", no_wrap=name != "why"
        )
    for view in views:
        table.add_row(
            view.spec.name,
            str(view.signals.queued),
            str(view.signals.leased),
            str(view.delayed),
            str(view.finished),
            workers_line(view),
            Text(view.decision.reason),  # it may quote a log, whose brackets are no markup
        )
    return table


def workers_line(view: PoolView) -> str:
    """Say how many workers there are of how many wanted, and what they do."""
    alive = view.phase_count("pending", "starting", "ready_idle", "ready_busy")
    parts = [
        f"{count} {word}"
        for count, word in (
            (view.phase_count("pending", "starting"), "starting"),
            (view.phase_count("ready_busy"), "busy"),
            (view.phase_count("ready_idle"), "idle"),
            (view.phase_count("draining"), "draining"),
        )
        if count
    ]
    detail = f" ({', '.join(parts)})" if parts else ""
    return f"{alive} of {view.decision.wanted}{detail}"
