"""The ``lakeshore`` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the console script's entry."""
    from dreamlake.lakeshore.cli.app import run  # noqa: PLC0415 - typer and rich only when they are needed

    raise SystemExit(run())
