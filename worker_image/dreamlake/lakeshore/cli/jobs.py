"""``lakeshore jobs``: look at invocations, end them, read what they printed and returned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.cli.opening import NamespaceOption, TokenOption, UrlOption, known_queue, plane
from dreamlake.lakeshore.cli.output import JsonFlag, duration, plain, print_json, print_table
from dreamlake.lakeshore.cli.spans import parse_span
from dreamlake.lakeshore.dispatch.plane import STATES, TERMINAL_STATES, Plane
from dreamlake.lakeshore.errors import ConfigError, DispatchError
from dreamlake.lakeshore.suggest import nearest
from dreamlake.lakeshore.worker.deliver import log_journal

app = typer.Typer(help="Look at jobs, end them, read their output and results.", no_args_is_help=True)

_FOLLOW_S = 0.25  # of silence, after which to look whether the job has ended
_TIMES = {"submitted_at", "queued_at", "started_at", "finished_at", "lease_until", "due", "deadline"}
"""Fields of a row that are seconds on the plane's clock."""

JobId = Annotated[str, typer.Argument(metavar="ID", help="Invocation id, as submit printed it.")]


@app.command("list")
def list_jobs(
    queue: Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Only this queue.")] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help=f"Only this state: {', '.join(STATES)}.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="At most so many, newest first.")
    ] = 50,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """List jobs, newest first."""
    if state is not None and state not in STATES:
        raise ConfigError(f"--state {state}{nearest(state, STATES)}")
    with plane(url, token, namespace) as opened:
        if queue is not None:
            known_queue(opened, queue)
        rows = opened.invocations(queue=queue, state=state, limit=limit)
        now = opened.now()
    if as_json:
        print_json(rows)
        return
    print_table(
        ("ID", "QUEUE", "STATE", "ATTEMPT", "AGE", "RAN", "ERROR"),
        [_line(row, now) for row in rows],
        empty="no jobs",
    )


@app.command("show")
def show(
    inv_id: JobId,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Show one job: its state, attempts, times and error."""
    with plane(url, token, namespace) as opened:
        row = _row(opened, inv_id)
        now = opened.now()
    if as_json:
        print_json(row)
        return
    for name, value in row.items():
        if value is not None:
            _print_field(name, value, now)


@app.command("kill")
def kill(
    inv_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Invocation ids.")],
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> int:
    """End jobs as cancelled, queued or running; exit status 1 when one had ended already."""
    with plane(url, token, namespace) as opened:
        for inv_id in inv_ids:
            _row(opened, inv_id)
        ended = {inv_id: opened.cancel(inv_id) for inv_id in inv_ids}
        states = {inv_id: _row(opened, inv_id)["state"] for inv_id in inv_ids}
    if as_json:
        print_json(
            [{"id": inv_id, "cancelled": did, "state": states[inv_id]} for inv_id, did in ended.items()]
        )
    else:
        for inv_id, did in ended.items():
            typer.echo(f"{inv_id} {'cancelled' if did else f'had already {states[inv_id]}'}")
    return 0 if all(ended.values()) else 1


@app.command("purge")
def purge(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="SPAN", help="Those that ended so long ago: 12h, 7d.")
    ],
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Forget jobs that have ended, with their results, frames and output; their space is used again."""
    seconds = parse_span(older_than, "--older-than")
    with plane(url, token, namespace) as opened:
        gone = opened.purge(older_than_s=seconds)
    if as_json:
        print_json({"purged": gone})
    else:
        typer.echo(f"{gone} jobs forgotten")


@app.command("logs")
def logs(
    inv_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Print what a job printed (through Python's stdout and stderr, on a worker with slots of its own)."""
    with plane(url, token, namespace) as opened:
        _row(opened, inv_id)
        since = -1
        while True:
            ended = not follow or _row(opened, inv_id)["state"] in TERMINAL_STATES
            for seq, text in _log(opened, inv_id, since, 0.0 if ended else _FOLLOW_S):
                since = seq
                _print_log(text, as_json=as_json)
            if ended:
                return


@app.command("result")
def result(
    inv_id: JobId,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Seconds to wait for the end.")
    ] = 0.0,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Print a job's result; exit status 1 when it failed, was cancelled or has not ended."""
    with plane(url, token, namespace) as opened:
        value = wire.unpack(opened.result(inv_id, timeout=timeout))
    if as_json:
        print_json({"id": inv_id, "result": plain(value)})
    else:
        typer.echo(value if isinstance(value, str) else repr(value))


def _print_field(name: str, value: Any, now: float) -> None:
    if name in _TIMES:
        typer.echo(f"{name:<14} {duration(abs(now - value))} {'ago' if value <= now else 'from now'}")
    elif name == "error":
        typer.echo(f"{name:<14} {value.get('type')}: {value.get('message')}")
        for line in str(value.get("traceback") or "").splitlines():
            typer.echo(f"  {line}")
    else:
        typer.echo(f"{name:<14} {value}")


def _line(row: dict[str, object], now: float) -> tuple[str, ...]:
    error = row["error"]
    text = f"{error.get('type')}: {error.get('message')}" if isinstance(error, dict) else ""
    started, finished = row.get("started_at"), row.get("finished_at")
    ran = None
    if isinstance(started, int | float):
        ran = (finished if isinstance(finished, int | float) else now) - started
    submitted = row["submitted_at"]
    age = now - submitted if isinstance(submitted, int | float) else None
    return (
        str(row["id"]),
        str(row["queue"]),
        str(row["state"]),
        str(row["attempt"]),
        duration(age),
        duration(ran),
        " ".join(text.split())[:60],
    )


def _row(opened: Plane, inv_id: str) -> dict[str, Any]:
    row = opened.get(inv_id)
    if row is None:
        raise DispatchError(f"there is no invocation {inv_id} here: see `lakeshore jobs list`")
    return row


def _log(opened: Plane, inv_id: str, since: int, timeout: float) -> Iterator[tuple[int, str]]:
    """Give what was printed after ``since``, until nothing more comes for ``timeout`` seconds."""
    try:
        for seq, data in opened.journal_read(log_journal(inv_id), since=since, timeout=timeout):
            yield seq, data.decode("utf-8", "replace")
    except TimeoutError:
        return


def _print_log(text: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"text": text})
    else:
        typer.echo(text, nl=False)
