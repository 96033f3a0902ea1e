"""``lakeshore up``: an elastic pool of local workers from a queue.yaml."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dreamlake.lakeshore.cli.opening import NamespaceOption, UrlOption, plane
from dreamlake.lakeshore.cli.output import JsonFlag, print_json
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.home import home
from dreamlake.lakeshore.pool.elastic import ElasticPool
from dreamlake.lakeshore.pool.queue_file import QueueSpec, check_distinct, read_queue_file
from dreamlake.lakeshore.pool.queue_pool import PoolView
from dreamlake.lakeshore.worker.stopping import StopSwitch, stop_on_signals

EXAMPLE = """\
apiVersion: lakeshore.dreamlake.ai/v1alpha1
kind: Queue
metadata:
  name: hello
spec:
  kind: fifo
  elasticity:
    kind: max_count
    max: 4
    idleTimeoutSeconds: 30
"""


def up(
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="queue.yaml, as kubectl takes it; may be repeated."),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", envvar="LAKESHORE_ROOT", help="Directory of run.read and run.write."),
    ] = None,
    retries: Annotated[
        int, typer.Option("--retries", min=0, help="Attempts after the first, where jobs are silent.")
    ] = 1,
    lease: Annotated[
        float, typer.Option("--lease", min=0.2, help="Seconds that a claim stands unrenewed.")
    ] = 30.0,
    example: Annotated[bool, typer.Option("--example", help="Print a minimal queue.yaml and exit.")] = False,
    url: UrlOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Run an elastic pool of workers for the queues of a file, until Ctrl-C."""
    if example:
        typer.echo(EXAMPLE, nl=False)
        return
    if not files:
        raise ConfigError("name a file with -f queue.yaml; `lakeshore up --example` prints a minimal one")
    specs = [spec for file in files for spec in read_queue_file(file)]
    check_distinct(specs, ", ".join(map(str, files)))
    if root is not None and not root.is_dir():
        raise ConfigError(f"--root {root} is not a directory: create it or give another one")
    _say_unused(specs)
    switch = StopSwitch()
    try:
        with (
            plane(url, namespace) as opened,
            stop_on_signals(switch),
            _display(switch, as_json=as_json) as show,
        ):
            ElasticPool(
                opened,
                specs,
                home=home(),
                namespace=namespace,
                root=root,
                retries=retries,
                lease_s=lease,
                switch=switch,
                show=show.update,
            ).run()
    finally:
        switch.close()


def _say_unused(specs: list[QueueSpec]) -> None:
    for spec in specs:
        if spec.unused:
            typer.echo(f"queue {spec.name}: unused on one machine: {', '.join(spec.unused)}", err=True)


class _Lines:
    """One line per event: for logs, pipes and ``--json``."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def update(self, views: list[PoolView]) -> None:
        for view in views:
            event = view.event
            if event is None:
                continue
            if self._as_json:
                print_json(event)
            else:
                typer.echo(f"{event.queue}: {event.kind} to {event.after['desired']}: {event.reason}")
        sys.stdout.flush()


class _LiveTable:
    """A table that is drawn anew at each tick."""

    def __init__(self, switch: StopSwitch) -> None:
        from rich.console import Console  # noqa: PLC0415 - not needed for lines
        from rich.live import Live  # noqa: PLC0415

        self._switch = switch
        self.live = Live(console=Console(), auto_refresh=False)

    def update(self, views: list[PoolView]) -> None:
        from dreamlake.lakeshore.pool.table import draw  # noqa: PLC0415

        line = ""
        if self._switch.stopping:
            line = "stopping: running jobs are handed back"
        elif self._switch.draining:
            line = "draining: running jobs end; Ctrl-C again stops"
        self.live.update(draw(views, stopping=line), refresh=True)


@contextmanager
def _display(switch: StopSwitch, *, as_json: bool) -> Iterator[_Lines | _LiveTable]:
    if as_json or not sys.stdout.isatty():
        yield _Lines(as_json=as_json)
        return
    table = _LiveTable(switch)
    with table.live:
        yield table
