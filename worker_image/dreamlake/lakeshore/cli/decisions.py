"""``lakeshore queues events``: what was decided about a queue's workers, and why."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dreamlake.lakeshore.cli.opening import (
    NamespaceOption,
    TokenOption,
    UrlOption,
    control_plane,
    known_queue,
)
from dreamlake.lakeshore.cli.output import JsonFlag, duration, print_json, print_table

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.administration import Administration

_LOOK_S = 1.0
_MOST = 1000


def events(
    name: Annotated[str, typer.Argument(metavar="QUEUE", help="Name of the queue.")],
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print them as they come, the oldest first.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show decisions that changed nothing, too.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=_MOST, help="At most so many of the past.")
    ] = 50,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Show what was decided about a queue's workers, and why, newest first."""
    with control_plane(url, token, namespace, "decisions are kept") as (opened, rest):
        found = rest.elasticity_events(name, limit=limit, verbose=verbose)
        if not found:
            known_queue(opened, name)
        if follow:
            for event in _as_they_come(rest, name, found, verbose=verbose):
                _print_one(event, as_json=as_json)
        now = opened.now()
    if as_json:
        print_json(found)
        return
    print_table(
        ("AGE", "DECISION", "WORKERS", "WHY"),
        [(duration(now - event["at"]), event["kind"], _workers(event), event["reason"]) for event in found],
        empty="no decisions yet: `lakeshore up` and the operator write them",
    )


def _as_they_come(
    rest: Administration, queue: str, found: Sequence[dict[str, Any]], *, verbose: bool
) -> Iterator[dict[str, Any]]:
    """Give the past, oldest first, then what is new, for ever."""
    last, told = 0.0, set[str]()
    while True:
        for event in reversed(found):
            key = f"{event['at']!r} {event['kind']} {event['reason']}"
            if event["at"] < last or key in told:
                continue
            if event["at"] > last:
                last, told = event["at"], set()
            told.add(key)
            yield event
        time.sleep(_LOOK_S)
        found = rest.elasticity_events(queue, limit=100, verbose=verbose)


def _print_one(event: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(event)
        return
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["at"]))
    typer.echo(f"{at}  {event['kind']:<10}  {_workers(event):<9}  {event['reason']}")


def _workers(event: dict[str, Any]) -> str:
    """Say how many there were and how many are wanted, as far as the event tells."""
    before, after = event["before"].get("workers"), event["after"].get("desired")
    return f"{'?' if before is None else before} -> {'?' if after is None else after}"
