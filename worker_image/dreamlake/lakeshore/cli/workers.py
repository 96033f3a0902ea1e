"""``lakeshore workers``: who works, and orders to them."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from dreamlake.lakeshore.cli.opening import (
    NamespaceOption,
    TokenOption,
    UrlOption,
    administration,
    control_plane,
    known_queue,
    plane,
)
from dreamlake.lakeshore.cli.output import JsonFlag, duration, print_json, print_table
from dreamlake.lakeshore.dispatch.plane import Plane
from dreamlake.lakeshore.errors import DispatchError
from dreamlake.lakeshore.suggest import nearest

app = typer.Typer(help="Look at workers, and give them orders.", no_args_is_help=True)


@app.command("list")
def list_workers(
    queue: Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Only this queue.")] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """List workers, the oldest first, with the jobs that each holds."""
    with plane(url, token, namespace) as opened:
        if queue is not None:
            known_queue(opened, queue)
        rows = _rows(opened, queue)
        now = opened.now()
    if as_json:
        print_json(rows)
        return
    print_table(
        ("WORKER", "QUEUE", "HOST", "PID", "STATE", "JOBS", "STARTED", "SEEN"),
        [
            (
                str(row["id"]),
                ",".join(row.get("queues") or [row["queue"]]),
                str(row["host"]),
                str(row["pid"]),
                _state(row),
                f"{row['leased']} of {row['concurrency']}",
                f"{duration(now - row['started_at'])} ago",
                f"{duration(now - row['last_seen_at'])} ago",
            )
            for row in rows
        ],
        empty="no workers: start one with `lakeshore worker start`, or a pool with `lakeshore up`",
    )


_ORDERS = (
    ("cordon", "Give workers no more jobs; what they run goes on, and they stay.", "takes no more jobs"),
    ("uncordon", "Give workers jobs again.", "takes jobs again"),
    ("drain", "Have workers end what they run, start nothing more, and go.", "is draining"),
)


def _add_order(order: str, words: str, outcome: str) -> None:
    @app.command(order, help=words)
    def give(
        worker_ids: Annotated[
            list[str], typer.Argument(metavar="WORKER...", help="Ids, as `workers list` shows them.")
        ],
        url: UrlOption = None,
        token: TokenOption = None,
        namespace: NamespaceOption = "default",
        as_json: JsonFlag = False,
    ) -> None:
        with control_plane(url, token, namespace, "workers take orders") as (_, rest):
            known = {str(row["id"]) for row in rest.workers()}
            for worker_id in worker_ids:
                if worker_id not in known:
                    hint = nearest(worker_id, known) if known else ": there are none"
                    raise DispatchError(f"there is no worker {worker_id!r}{hint}")
            for worker_id in worker_ids:
                rest.order_worker(worker_id, order)
        if as_json:
            print_json([{"id": worker_id, "order": order} for worker_id in worker_ids])
            return
        for worker_id in worker_ids:
            typer.echo(f"worker {worker_id} {outcome}")


for _order, _words, _outcome in _ORDERS:
    _add_order(_order, _words, _outcome)


def _rows(opened: Plane, queue: str | None) -> list[dict[str, Any]]:
    if opened.local:
        return [dataclasses.asdict(record) for record in opened.workers(queue)]
    with administration(opened, "workers are shown") as rest:
        return rest.workers(queue)


def _state(row: dict[str, Any]) -> str:
    marks = [mark for mark in ("cordoned", "stale") if row.get(mark)]
    return " ".join([str(row["state"]), *marks])
