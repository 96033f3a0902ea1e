"""Draw queue depth and workers over time as SVG: no script, no outside asset, legible on light and dark pages."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Row: TypeAlias = tuple[float, int, int, int, int]
"""Seconds, jobs queued, jobs leased, workers wanted, workers alive: what ``chart_svg`` draws, in order of time."""

WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP, GAP, BOTTOM = 760, 130, 64, 16, 52, 44, 44
MOST_POINTS = 800
"""More points than there are pixels only make the file larger."""


class _Line(NamedTuple):
    column: int
    name: str
    color: str
    dashed: bool = False
    filled: bool = False


# Each colour keeps a contrast of at least 3 against white and against near-black.
_JOBS = (_Line(1, "queued", "#d9641e", filled=True), _Line(2, "leased", "#3b82c4"))
_WORKERS = (
    _Line(3, "workers wanted", "#8f63cf", dashed=True),
    _Line(4, "workers alive", "#2a9164", filled=True),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """The highest value on each axis, so that several charts can share them. ``seconds``: the width."""

    seconds: float
    jobs: int
    workers: int


def scale_of(*series: Sequence[Row]) -> Scale:
    """Give the scale that holds all of some series."""
    rows = [row for rows in series for row in rows]
    return Scale(
        max((row[0] for row in rows), default=0.0) or 1.0,
        max((max(row[1], row[2]) for row in rows), default=0),
        max((max(row[3], row[4]) for row in rows), default=0),
    )


def chart_svg(samples: Sequence[Row], *, title: str, scale: Scale | None = None) -> str:
    """Draw rows ``(t_s, queued, leased, wanted, alive)`` in two panels over one time axis: jobs, and workers.

    Values hold from their time to the next. ``scale``: of the axes; the samples' own without it. Text takes the
    colour of the page's text. Of very long series each pixel's peak is drawn.
    """
    rows = _thinned(samples)
    size = scale_of(samples) if scale is None else scale
    height = TOP + 2 * PANEL_HEIGHT + GAP + BOTTOM
    name = html.escape(title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' role="img" aria-label="{name}" font-family="system-ui, sans-serif" font-size="12" fill="currentColor">',
        f"<title>{name}</title>",
        f'<text x="{LEFT}" y="18" font-size="14" font-weight="600">{name}</text>',
        _panel(rows, _JOBS, TOP, "jobs", most=size.jobs, seconds=size.seconds),
        _panel(rows, _WORKERS, TOP + PANEL_HEIGHT + GAP, "workers", most=size.workers, seconds=size.seconds),
        _time_axis(TOP + 2 * PANEL_HEIGHT + GAP, size.seconds),
    ]
    if not rows:
        parts.append(f'<text x="{WIDTH / 2}" y="{TOP + 70}" text-anchor="middle">nothing was sampled</text>')
    return "\n".join([*parts, "</svg>"])


def _panel(
    rows: Sequence[Row], lines: Sequence[_Line], top: float, label: str, *, most: int, seconds: float
) -> str:
    step = _nice(max(most, 1) / 5, whole=True)
    ceiling = step * math.ceil(max(most, 1) / step)
    bottom = top + PANEL_HEIGHT
    parts = []
    for index in range(round(ceiling / step) + 1):
        y = bottom - PANEL_HEIGHT * index * step / ceiling
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor"'
            f' stroke-opacity="{0.15 if index else 0.6}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{index * step:,.0f}</text>'
        )
    middle = top + PANEL_HEIGHT / 2
    parts.append(
        f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{label}</text>'
    )
    parts += [_path(rows, line, bottom, PANEL_HEIGHT / ceiling, seconds) for line in lines if rows]
    parts.append(_legend(lines, top - 10))
    return "\n".join(parts)


def _path(rows: Sequence[Row], line: _Line, bottom: float, per_unit: float, seconds: float) -> str:
    """Draw one column as steps, the last to its time alone."""
    across = (WIDTH - LEFT - RIGHT) / seconds
    first = f"M{LEFT + rows[0][0] * across:.1f} {bottom - rows[0][line.column] * per_unit:.1f}"
    steps = [f"H{LEFT + row[0] * across:.1f}V{bottom - row[line.column] * per_unit:.1f}" for row in rows[1:]]
    shape = first + "".join(steps)
    drawn = f'<path d="{shape}" fill="none" stroke="{line.color}" stroke-width="1.6"{_dash(line)}/>'
    if not line.filled:
        return drawn
    x0, x1 = LEFT + rows[0][0] * across, LEFT + rows[-1][0] * across
    area = f"{shape}L{x1:.1f} {bottom:.1f}L{x0:.1f} {bottom:.1f}Z"
    return f'<path d="{area}" fill="{line.color}" fill-opacity="0.18" stroke="none"/>\n{drawn}'


def _legend(lines: Sequence[_Line], y: float) -> str:
    parts = []
    x = float(WIDTH - RIGHT)
    for line in reversed(lines):
        x -= 8 * len(line.name)
        parts.append(f'<text x="{x:.0f}" y="{y}">{line.name}</text>')
        x -= 28
        parts.append(
            f'<line x1="{x:.0f}" x2="{x + 22:.0f}" y1="{y - 4}" y2="{y - 4}" stroke="{line.color}"'
            f' stroke-width="3"{_dash(line)}/>'
        )
        x -= 14
    return "\n".join(parts)


def _dash(line: _Line) -> str:
    return ' stroke-dasharray="5 3"' if line.dashed else ""


def _time_axis(y: float, seconds: float) -> str:
    unit, in_unit = next(
        (unit for unit in ((3600.0, "hours"), (60.0, "minutes")) if seconds >= 3 * unit[0]), (1.0, "seconds")
    )
    step = _nice(seconds / unit / 8)
    across = (WIDTH - LEFT - RIGHT) * unit / seconds
    parts = []
    for index in range(math.floor(seconds / unit / step + 1e-9) + 1):
        x = LEFT + index * step * across
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 4}" stroke="currentColor" stroke-opacity="0.6"/>'
            f'<text x="{x:.1f}" y="{y + 18}" text-anchor="middle">{index * step:g}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{y + 36}" text-anchor="middle">time ({in_unit})</text>')
    return "\n".join(parts)


def _nice(least: float, *, whole: bool = False) -> float:
    """Give the least of 1, 2, 5, 10, 20, 50 and so on (0.5, 0.2 below) that is not below ``least``."""
    least = max(least, 1.0 if whole else 1e-6)
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _thinned(samples: Sequence[Row]) -> Sequence[Row]:
    """Keep ``MOST_POINTS``: of each stretch its begin and its peaks, and the very last sample."""
    stretch = -(-len(samples) // MOST_POINTS)
    if stretch <= 1:
        return samples
    parts = (samples[at : at + stretch] for at in range(0, len(samples), stretch))
    return [*(_peaks(part) for part in parts), samples[-1]]


def _peaks(part: Sequence[Row]) -> Row:
    _, queued, leased, wanted, alive = zip(*part, strict=True)
    return part[0][0], max(queued), max(leased), max(wanted), max(alive)
