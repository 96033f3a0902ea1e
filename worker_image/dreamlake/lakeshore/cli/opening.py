"""The plane that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from dreamlake.lakeshore.dispatch.plane import Plane, QueueRecord
from dreamlake.lakeshore.errors import DispatchError
from dreamlake.lakeshore.home import open_plane
from dreamlake.lakeshore.suggest import nearest

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", envvar="LAKESHORE_URL", help="Control plane; without it the local plane."
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TEXT",
        envvar="LAKESHORE_CLIENT_TOKEN",
        help="Token for the control plane of --url.",
    ),
]
NamespaceOption = Annotated[
    str,
    typer.Option("--namespace", metavar="NAME", envvar="LAKESHORE_NAMESPACE", help="Namespace to work in."),
]


@contextmanager
def plane(url: str | None, token: str | None, namespace: str) -> Iterator[Plane]:
    """Open the plane for the length of a command. Raises ``ConfigError``."""
    opened = open_plane(url, token=token, namespace=namespace)
    try:
        yield opened
    finally:
        opened.close()


def known_queue(opened: Plane, name: str) -> QueueRecord:
    """Give a queue that is there. Raises ``DispatchError`` with the name that was probably meant."""
    known = {record.name: record for record in opened.queues()}
    if name not in known:
        hint = nearest(name, known) if known else ": there are none yet"
        raise DispatchError(f"there is no queue {name!r}{hint}")
    return known[name]
