"""The command tree, and the one place where an error becomes a line and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from dreamlake.lakeshore.cli import (
    jobs,
    namespaces,
    queues,
    server,
    simulate,
    submit,
    tokens,
    up,
    worker,
    workers,
)
from dreamlake.lakeshore.errors import InvocationCancelledError, InvocationFailedError, LakeshoreError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's own, wherever this version of it keeps it: some bring click along, some depend on it."""

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
app.add_typer(workers.app, name="workers")
app.add_typer(jobs.app, name="jobs")
app.add_typer(queues.app, name="queues")
app.add_typer(tokens.app, name="tokens")
app.add_typer(namespaces.app, name="namespaces")
app.command("submit")(submit.submit)
app.command("up")(up.up)
app.command("server", context_settings=server.PASS_ON)(server.server)
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
    args = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        result = typer.main.get_command(app).main(args=args, prog_name="lakeshore", standalone_mode=False)
    except UsageError as exc:
        return _wrong_use(exc)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (InvocationFailedError, InvocationCancelledError, TimeoutError) as exc:
        return _fail(str(exc), NO_SUCCESS)
    except LakeshoreError as exc:
        return _fail(str(exc), WRONG_USE)
    except SystemExit as exc:
        if not isinstance(exc.__context__, BrokenPipeError):
            return exc.code if isinstance(exc.code, int) else OK  # the worker's parser after its --help
        # The reader (head, less) has had enough: that is its right.
        _give_up_stdout()
        return OK
    except OSError as exc:
        _give_up_stdout()
        return _fail(f"{exc.filename or 'the output'}: {exc.strerror}: nothing more was done", WRONG_USE)
    return result if isinstance(result, int) else OK


def _give_up_stdout() -> None:
    """Let what is still buffered go nowhere, so that Python does not complain about it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _wrong_use(error: Any) -> int:
    where = error.ctx.command_path if error.ctx else "lakeshore"
    if error.ctx is not None and error.message == error.ctx.get_help():
        typer.echo(error.message)  # a group without a command: its help is what was asked for
        return OK
    return _fail(f"{error.format_message().rstrip('.')} (see `{where} --help`)", WRONG_USE)


def _fail(message: str, status: int) -> int:
    print(f"lakeshore: {' '.join(message.split())}", file=sys.stderr)
    return status
