"""Arrivals to replay: when each job comes, and how long it takes."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = ("time", "duration")


class TraceError(ValueError):
    """A trace that cannot be replayed; the message names the file and the line at fault."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs in order of arrival.

    ``arrivals``: seconds from the start, never falling, one per job. ``durations``: seconds that each runs, of
    the same length. Two plain lists, so that a million jobs stay cheap.
    """

    name: str
    arrivals: list[float]
    durations: list[float]

    @classmethod
    def of(cls, jobs: Iterable[tuple[float, float]], name: str = "trace") -> Trace:
        """Make a trace of ``(arrival_s, duration_s)`` in any order; jobs that come together keep theirs.

        Raises ``TraceError`` for numbers that are negative or not finite.
        """
        rows = sorted(jobs, key=lambda job: job[0])
        for at, takes in rows:
            if not (math.isfinite(at) and math.isfinite(takes) and at >= 0 and takes >= 0):
                raise TraceError(f"job ({at!r}, {takes!r}): time and duration are numbers from 0, in seconds")
        return cls(name, [float(at) for at, _ in rows], [float(takes) for _, takes in rows])

    def __len__(self) -> int:
        return len(self.arrivals)


def load_trace(path: Path | str) -> Trace:
    """Read a CSV of ``time,duration``, in seconds; the header line may be left out.

    Times may be of any clock (a Unix time, say): the first job comes at 0. Lines may be in any order. Raises
    ``TraceError``, with the line, for what is not a job, and for a file that cannot be read or holds none.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = sorted(_rows(csv.reader(file), str(path)), key=lambda row: row[0])
    except OSError as exc:
        raise TraceError(f"{path}: {exc.strerror}: give the path of a CSV of {','.join(HEADER)}") from exc
    except UnicodeDecodeError as exc:
        raise TraceError(f"{path}: not a text file in UTF-8") from exc
    except csv.Error as exc:
        raise TraceError(f"{path}: not a CSV file: {exc}") from exc
    if not rows:
        raise TraceError(f"{path}: no jobs in it: one line per job, {','.join(HEADER)}, in seconds")
    first = rows[0][0]
    return Trace(path.stem, [at - first for at, _ in rows], [takes for _, takes in rows])


def _rows(lines: Iterable[list[str]], where: str) -> Iterator[tuple[float, float]]:
    begun = False
    for number, cells in enumerate(lines, 1):
        if not any(cell.strip() for cell in cells):
            continue
        if not begun and tuple(cell.strip().lower() for cell in cells) == HEADER:
            begun = True
            continue
        begun = True
        yield _row(cells, f"{where}:{number}")


def _row(cells: list[str], where: str) -> tuple[float, float]:
    if len(cells) != len(HEADER):
        raise TraceError(f"{where}: {len(cells)} columns, expected two: {','.join(HEADER)}")
    at = _seconds(cells[0], "time", where)
    takes = _seconds(cells[1], "duration", where)
    if takes < 0:
        raise TraceError(f"{where}: duration {takes:g} is below 0")
    return at, takes


def _seconds(cell: str, column: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TraceError(f"{where}: {column} {cell.strip()!r} is not a number of seconds")
    return value
