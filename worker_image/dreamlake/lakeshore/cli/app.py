"""The command tree, and the one place where an error becomes a line and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import click
import typer

from dreamlake.lakeshore.cli import jobs, queues, simulate, submit, up, worker
from dreamlake.lakeshore.errors import InvocationCancelledError, InvocationFailedError, LakeshoreError

OK, NO_SUCCESS, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses: done; a job did not succeed (in time); nothing was done, see the line on stderr; Ctrl-C."""

app = typer.Typer(
    name="lakeshore",
    help="Run Python functions on an elastic pool of workers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(worker.app, name="worker")
app.add_typer(jobs.app, name="jobs")
app.add_typer(queues.app, name="queues")
app.command("submit")(submit.submit)
app.command("up")(up.up)
app.command("simulate")(simulate.simulate)


def _version(wanted: bool) -> None:
    if wanted:
        from dreamlake.lakeshore import __version__  # noqa: PLC0415 - reads the installed metadata

        typer.echo(f"lakeshore {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run Python functions on an elastic pool of workers."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status; every expected error is one line on stderr."""
    command = typer.main.get_command(app)
    try:
        result = command.main(
            args=list(sys.argv[1:] if argv is None else argv), prog_name="lakeshore", standalone_mode=False
        )
    except click.UsageError as exc:
        where = exc.ctx.command_path if exc.ctx else "lakeshore"
        return _fail(f"{exc.format_message()} (see `{where} --help`)", WRONG_USE)
    except click.ClickException as exc:
        return _fail(exc.format_message(), WRONG_USE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", INTERRUPTED)
    except (InvocationFailedError, InvocationCancelledError, TimeoutError) as exc:
        return _fail(str(exc), NO_SUCCESS)
    except LakeshoreError as exc:
        return _fail(str(exc), WRONG_USE)
    except BrokenPipeError:
        # The reader (head, less) has had enough: that is its right. Nothing more can be written.
        sys.stderr.close()
        return OK
    return result if isinstance(result, int) else OK


def _fail(message: str, status: int) -> int:
    line = " ".join(message.split("\n"))
    print(f"lakeshore: {line}", file=sys.stderr)
    return status
