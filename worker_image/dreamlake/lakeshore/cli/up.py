"""``lakeshore up``: an elastic pool of local workers from a queue.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dreamlake.lakeshore.cli.opening import NamespaceOption, TokenOption, UrlOption, plane
from dreamlake.lakeshore.cli.output import JsonFlag
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.home import home, use_plane

if TYPE_CHECKING:
    from dreamlake.lakeshore.pool.queue_file import QueueSpec

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


_PATIENCE_S = 2.0
"""Seconds that one look of the pool waits for a control plane that is away: Ctrl-C is heard between looks."""


def up(
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="queue.yaml, as kubectl takes it; may be repeated."
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", metavar="DIR", envvar="LAKESHORE_ROOT", help="Directory of run.read and run.write."
        ),
    ] = None,
    retries: Annotated[
        int,
        typer.Option(
            "--retries", metavar="N", min=0, help="Attempts after the first, where jobs are silent."
        ),
    ] = 1,
    lease: Annotated[
        float,
        typer.Option("--lease", metavar="SECONDS", min=0.2, help="Seconds that a claim stands unrenewed."),
    ] = 30.0,
    example: Annotated[bool, typer.Option("--example", help="Print a minimal queue.yaml and exit.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Run an elastic pool of workers for the queues of a file, until Ctrl-C."""
    if example:
        typer.echo(EXAMPLE, nl=False)
        return
    if not files:
        raise ConfigError("name a file with -f queue.yaml; `lakeshore up --example` prints a minimal one")
    if root is not None and not root.is_dir():
        raise ConfigError(f"--root {root} is not a directory: create it or give another one")
    specs = _read(files)
    # For the workers: no list of processes may show the token.
    use_plane(url, token=token, namespace=namespace)
    # Only here: the other commands start faster without the pool, its YAML and its table.
    from dreamlake.lakeshore.cli.display import display  # noqa: PLC0415
    from dreamlake.lakeshore.pool.elastic import ElasticPool  # noqa: PLC0415
    from dreamlake.lakeshore.worker.stopping import StopSwitch, stop_on_signals  # noqa: PLC0415

    switch = StopSwitch()
    try:
        with (
            plane(url, token, namespace, patience_s=_PATIENCE_S) as opened,
            stop_on_signals(switch),
            display(switch, as_json=as_json) as show,
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


def _read(files: Sequence[Path]) -> list[QueueSpec]:
    from dreamlake.lakeshore.pool.queue_file import check_distinct, read_queue_file  # noqa: PLC0415

    specs = [spec for file in files for spec in read_queue_file(file)]
    check_distinct(specs, ", ".join(map(str, files)))
    for spec in specs:
        if spec.unused:
            typer.echo(f"queue {spec.name}: unused on one machine: {', '.join(spec.unused)}", err=True)
    return specs
