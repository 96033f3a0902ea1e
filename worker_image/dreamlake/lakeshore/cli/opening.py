"""The plane that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dreamlake.lakeshore.dispatch.plane import Plane, QueueRecord
from dreamlake.lakeshore.errors import ConfigError, DispatchError
from dreamlake.lakeshore.home import open_plane
from dreamlake.lakeshore.suggest import nearest

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.administration import Administration

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
def plane(
    url: str | None, token: str | None, namespace: str, *, patience_s: float | None = None
) -> Iterator[Plane]:
    """Open the plane for the length of a command. Raises ``ConfigError``.

    ``patience_s``: seconds that each request is tried again for while a control plane is away.
    """
    if url and patience_s is not None:
        from dreamlake.lakeshore.dispatch import HttpDispatch  # noqa: PLC0415

        opened: Plane = HttpDispatch(url, token=token, namespace=namespace, timeout=patience_s)
    else:
        opened = open_plane(url, token=token, namespace=namespace)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def administration(opened: Plane, what: str) -> Iterator[Administration]:
    """Open the rest of a control plane for ``what``. Raises ``ConfigError`` where the plane is the local one."""
    # Only here: commands on the local plane start faster without HTTP.
    from dreamlake.lakeshore.dispatch.http.administration import administration as rest_of  # noqa: PLC0415

    found = rest_of(opened)
    if found is None:
        raise only_there(what)
    with closing(found):
        yield found


@contextmanager
def control_plane(
    url: str | None, token: str | None, namespace: str, what: str
) -> Iterator[tuple[Plane, Administration]]:
    """Open a control plane and the rest of it for the length of a command. Raises ``ConfigError`` without a URL."""
    if not url:  # before the local plane is made
        raise only_there(what)
    with plane(url, token, namespace) as opened, administration(opened, what) as rest:
        yield opened, rest


def only_there(what: str) -> ConfigError:
    """Say that ``what`` is not to be had on the local plane."""
    return ConfigError(f"{what} only on a control plane: name one with --url or LAKESHORE_URL")


def known_queue(opened: Plane, name: str) -> QueueRecord:
    """Give a queue that is there. Raises ``DispatchError`` with the name that was probably meant."""
    known = {record.name: record for record in opened.queues()}
    if name not in known:
        hint = nearest(name, known) if known else ": there are none yet"
        raise DispatchError(f"there is no queue {name!r}{hint}")
    return known[name]
