"""The plane that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dreamlake.lakeshore.daemon.plane import open_plane
from dreamlake.lakeshore.dispatch.plane import Plane

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", envvar="LAKESHORE_URL", help="Control plane; without it the local plane."
    ),
]
NamespaceOption = Annotated[
    str,
    typer.Option("--namespace", metavar="NAME", envvar="LAKESHORE_NAMESPACE", help="Namespace to work in."),
]


@contextmanager
def plane(url: str | None, namespace: str) -> Iterator[Plane]:
    """Open the plane for the length of a command. Raises ``ConfigError``."""
    opened = open_plane(url, namespace)
    try:
        yield opened
    finally:
        opened.close()
