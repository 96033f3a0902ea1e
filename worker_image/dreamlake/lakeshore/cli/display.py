"""What ``lakeshore up`` shows: a live table in a terminal, one line per event elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.live import Live

from dreamlake.lakeshore.cli.output import print_json
from dreamlake.lakeshore.pool.queue_pool import PoolView
from dreamlake.lakeshore.pool.table import draw
from dreamlake.lakeshore.worker.stopping import StopSwitch


class Lines:
    """One line per event: for logs, pipes and ``--json``."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def update(self, views: list[PoolView]) -> None:
        """Print the events that there are."""
        for view in views:
            event = view.event
            if event is None:
                continue
            if self._as_json:
                print_json(event)
            else:
                typer.echo(f"{event.queue}: {event.kind} to {event.after['desired']}: {event.reason}")


class LiveTable:
    """A table that is drawn anew at each tick."""

    def __init__(self, switch: StopSwitch) -> None:
        self._switch = switch
        self.live = Live(console=Console(), auto_refresh=False)

    def update(self, views: list[PoolView]) -> None:
        """Draw the queues as they are now."""
        line = ""
        if self._switch.stopping:
            line = "stopping: running jobs are handed back"
        elif self._switch.draining:
            line = "draining: running jobs end; Ctrl-C again stops"
        self.live.update(draw(views, stopping=line), refresh=True)


@contextmanager
def display(switch: StopSwitch, *, as_json: bool) -> Iterator[Lines | LiveTable]:
    """Choose what fits the place that stdout leads to."""
    if as_json or not sys.stdout.isatty():
        yield Lines(as_json=as_json)
        return
    table = LiveTable(switch)
    with table.live:
        yield table
