"""What commands print: a table for people, JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def print_json(value: Any) -> None:
    """Print one JSON document on one line."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False))


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold; what it cannot hold is described as text.

    Keeps dicts with text keys, lists, tuples, text, numbers, booleans and None. Bytes that are UTF-8 become
    text, NaN and infinities become text too, since JSON has no such numbers.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return repr(value)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print rows under headings, columns as wide as their longest cell; ``empty`` when there are none."""
    if not rows:
        typer.echo(empty)
        return
    widths = [max(len(cell) for cell in column) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def duration(seconds: float | None) -> str:
    """Write a duration in its largest unit: ``0.34 s``, ``12 s``, ``3.5 min``; ``-`` for None."""
    if seconds is None:
        return "-"
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{max(seconds, 0.0):.2g} s"
