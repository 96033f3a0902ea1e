"""The ``lakeshore`` command."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line; the console script's entry."""
    from dreamlake.lakeshore.cli.app import run  # noqa: PLC0415 - typer and rich only when they are needed

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a result may hold what the terminal cannot show
    raise SystemExit(run())
