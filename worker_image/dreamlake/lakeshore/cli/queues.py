"""``lakeshore queues``: declare queues, look at them, move them through their lifecycle."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dreamlake.lakeshore.cli.admission import ON_FULL, AdmissionFlags, in_words
from dreamlake.lakeshore.cli.decisions import events
from dreamlake.lakeshore.cli.opening import (
    NamespaceOption,
    TokenOption,
    UrlOption,
    administration,
    known_queue,
    only_there,
    plane,
)
from dreamlake.lakeshore.cli.output import JsonFlag, duration, print_json, print_table
from dreamlake.lakeshore.dispatch.plane import QUEUE_KINDS, STATES, Plane, QueueKind, QueueRecord, QueueState
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.suggest import nearest

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.administration import Administration

app = typer.Typer(help="Declare queues, look at them, drain and archive them.", no_args_is_help=True)

app.command("events")(events)

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
        row |= _limits(opened, name)
        now = opened.now()
    if as_json:
        print_json(row)
        return
    typer.echo(f"queue       {row['name']} ({row['kind']}, {row['state']})")
    typer.echo("jobs        " + ", ".join(f"{count} {state}" for state, count in row["jobs"].items()))
    typer.echo(f"oldest      {duration(row['oldest_age_s'] or None)}")
    if "retention_s" in row:
        typer.echo(f"takes       {in_words(row)}")
        typer.echo(f"keeps       what has ended, for {duration(row['retention_s'])}")
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
        str | None,
        typer.Option(
            "--kind", metavar="KIND", help=f"Order of claims: {', '.join(QUEUE_KINDS)}. A new queue is fifo."
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature", metavar="NUMBER", help="For boltzmann: the higher, the less priority counts."
        ),
    ] = None,
    max_depth: Annotated[
        int | None,
        typer.Option("--max-depth", metavar="N", min=0, help="Jobs that wait or run at most; 0: no limit."),
    ] = None,
    on_full: Annotated[
        str | None,
        typer.Option("--on-full", metavar="WHAT", help=f"With --max-depth: {' or '.join(ON_FULL)}."),
    ] = None,
    rate_limit: Annotated[
        float | None,
        typer.Option("--rate-limit", metavar="NUMBER", min=0, help="Jobs taken in a second; 0: no limit."),
    ] = None,
    burst: Annotated[
        float | None,
        typer.Option("--burst", metavar="NUMBER", help="Jobs that --rate-limit lets in at once."),
    ] = None,
    deadline_cutoff: Annotated[
        str | None,
        typer.Option("--deadline-cutoff", metavar="SPAN", help="Refuse deadlines nearer than this; 0: none."),
    ] = None,
    retention: Annotated[
        str | None, typer.Option("--retention", metavar="SPAN", help="How long jobs that ended are kept.")
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Declare a queue, or change what is given of one that is there."""
    if kind is not None and kind not in QUEUE_KINDS:
        raise ConfigError(f"--kind {kind}{nearest(kind, QUEUE_KINDS)}")
    if temperature is not None and not 0 < temperature < float("inf"):
        raise ConfigError(f"--temperature {temperature:g}: give a number above 0")
    flags = AdmissionFlags(max_depth, on_full, rate_limit, burst, deadline_cutoff, retention)
    if flags.given and not url:
        raise only_there(f"{flags.given[0]} acts")
    with plane(url, token, namespace) as opened:
        record = _wanted(opened, name, kind, temperature)
        if flags.given:
            with administration(opened, "limits act") as rest:
                rest.declare_queue(record, flags.over(_as_it_is(rest, name)))
        else:
            opened.declare_queue(record)
        record, limits = known_queue(opened, name), _limits(opened, name)
    if as_json:
        print_json({**dataclasses.asdict(record), **limits})
        return
    _say(record, as_json=False)
    if flags.given:
        typer.echo(f"takes {in_words(limits)}; keeps what has ended for {duration(limits['retention_s'])}")


def _wanted(opened: Plane, name: str, kind: str | None, temperature: float | None) -> QueueRecord:
    """Give the queue as it is to be: what was not given stays as it is."""
    known = {record.name: record for record in opened.queues()}.get(name, QueueRecord(name))
    return QueueRecord(
        name,
        cast("QueueKind", kind or known.kind),
        temperature=known.temperature if temperature is None else temperature,
    )


def _as_it_is(rest: Administration, name: str) -> dict[str, Any]:
    return next((queue for queue in rest.queues() if queue["name"] == name), {})


def _limits(opened: Plane, name: str) -> dict[str, Any]:
    """Give what a control plane knows of a queue beside its record."""
    if opened.local:
        return {}
    with administration(opened, "limits act") as rest:
        return {field: _as_it_is(rest, name).get(field) for field in ("admission", "retention_s")}


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
