"""``lakeshore queues``: declare queues, look at them, move them through their lifecycle."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dreamlake.lakeshore.cli.opening import NamespaceOption, TokenOption, UrlOption, known_queue, plane
from dreamlake.lakeshore.cli.output import JsonFlag, duration, print_json, print_table
from dreamlake.lakeshore.dispatch.plane import QUEUE_KINDS, STATES, Plane, QueueRecord, QueueState
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.suggest import nearest

app = typer.Typer(help="Declare queues, look at them, drain and archive them.", no_args_is_help=True)

QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Name of the queue.")]


@app.command("list")
def list_queues(
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """List queues with what waits and runs in each."""
    with plane(url, token, namespace) as opened:
        rows = [_describe(opened, record) for record in opened.queues()]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("QUEUE", "KIND", "STATE", "QUEUED", "RUNNING", "OLDEST", "WORKERS"),
        [
            (
                row["name"],
                row["kind"],
                row["state"],
                str(row["queued"]),
                str(row["running"]),
                duration(row["oldest_age_s"] or None),
                str(len(row["workers"])),
            )
            for row in rows
        ],
        empty="no queues: a submit makes one, or `lakeshore queues add NAME`",
    )


@app.command("show")
def show(
    name: QueueName,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Show one queue: its jobs by state, and its workers."""
    with plane(url, token, namespace) as opened:
        row = _describe(opened, known_queue(opened, name))
        row["jobs"] = {state: opened.count(name, state) for state in STATES}
        now = opened.now()
    if as_json:
        print_json(row)
        return
    typer.echo(f"queue       {row['name']} ({row['kind']}, {row['state']})")
    typer.echo("jobs        " + ", ".join(f"{count} {state}" for state, count in row["jobs"].items()))
    typer.echo(f"oldest      {duration(row['oldest_age_s'] or None)}")
    print_table(
        ("WORKER", "STATE", "LEASED", "SEEN"),
        [
            (work["id"], work["state"], str(work["leased"]), f"{duration(now - work['last_seen_at'])} ago")
            for work in row["workers"]
        ],
        empty="workers     none",
    )


@app.command("add")
def add(
    name: QueueName,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help=f"Order of claims: {', '.join(QUEUE_KINDS)}.")
    ] = "fifo",
    temperature: Annotated[
        float,
        typer.Option(
            "--temperature", metavar="NUMBER", help="For boltzmann: the higher, the less priority counts."
        ),
    ] = 1.0,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Declare a queue, or change its kind."""
    if kind not in QUEUE_KINDS:
        raise ConfigError(f"--kind {kind}{nearest(kind, QUEUE_KINDS)}")
    if not 0 < temperature < float("inf"):
        raise ConfigError(f"--temperature {temperature:g}: give a number above 0")
    with plane(url, token, namespace) as opened:
        opened.declare_queue(QueueRecord(name, kind, temperature=temperature))
        record = known_queue(opened, name)
    _say(record, as_json=as_json)


_MOVES: tuple[tuple[str, QueueState, str], ...] = (
    ("drain", "draining", "Take no new jobs and start none: those that run end, those that wait stay."),
    ("pause", "paused", "As a drain, and a pool sends its idle workers away."),
    ("resume", "active", "Take and start jobs again."),
    ("archive", "archived", "Put a queue away: as a pause, and nothing is deleted."),
    ("unarchive", "active", "Take and start jobs again, after an archive, a drain or a pause."),
)


def _add_move(verb: str, state: QueueState, words: str) -> None:
    @app.command(verb, help=words)
    def move(
        name: QueueName,
        url: UrlOption = None,
        token: TokenOption = None,
        namespace: NamespaceOption = "default",
        as_json: JsonFlag = False,
    ) -> None:
        with plane(url, token, namespace) as opened:
            known_queue(opened, name)
            opened.set_queue_state(name, state)
            record = known_queue(opened, name)
        _say(record, as_json=as_json)


for _verb, _state, _words in _MOVES:
    _add_move(_verb, _state, _words)


def _say(record: QueueRecord, *, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        typer.echo(f"queue {record.name} is {record.state} ({record.kind})")


def _describe(opened: Plane, record: QueueRecord) -> dict[str, Any]:
    signals = opened.signals(record.name)
    return {
        "name": record.name,
        "kind": record.kind,
        "state": record.state,
        "temperature": record.temperature,
        "queued": signals.queued + signals.delayed,
        "delayed": signals.delayed,
        "running": signals.leased,
        "oldest_age_s": signals.oldest_age_s,
        "workers": [
            {"id": work.id, "state": work.state, "leased": work.leased, "last_seen_at": work.last_seen_at}
            for work in opened.workers(record.name)
        ],
    }
