"""``lakeshore worker start`` and ``once``: the worker of ``python -m dreamlake.lakeshore.daemon``."""

from __future__ import annotations

import typer

app = typer.Typer(help="Run a worker on this machine.", no_args_is_help=True)

# The flags are those of the module, parsed by it: one definition, one help text.
_PASS_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command("start", context_settings=_PASS_ON)
def start(context: typer.Context) -> int:
    """Work on a queue until SIGTERM or Ctrl-C drains the worker (twice: stops it)."""
    return _run(context.args, "lakeshore worker start")


@app.command("once", context_settings=_PASS_ON)
def once(context: typer.Context) -> int:
    """Run at most one job, then exit."""
    return _run([*context.args, "--once"], "lakeshore worker once")


def _run(flags: list[str], program: str) -> int:
    from dreamlake.lakeshore.daemon.__main__ import main  # noqa: PLC0415 - the other commands start without it

    return main(flags, program=program)
