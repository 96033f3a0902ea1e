"""The report of a simulation as one HTML page: numbers, worker-hours by use, and a chart for each run."""

from __future__ import annotations

import html
from collections.abc import Sequence

from lakeshore_elasticity.simulator.chart import chart_svg, scale_of
from lakeshore_elasticity.simulator.results import Results, Run

# Use of worker time: name, colour, what it means. In the order in which a worker lives through them.
_USES = (
    ("busy", "#2a9164", "running at least one job"),
    ("idle", "#3b82c4", "ready, without a job"),
    ("starting", "#b58a00", "not ready yet, used later"),
    ("wasted", "#d9641e", "never used: cancelled while starting, or gone without a job"),
)
_HEADS = (
    *("policy", "wait p50", "p95", "p99", "longest", "worker-hours"),
    *(use[0] for use in _USES),
    *("actions", "most workers", "never ran"),
)


def render_report(results: Results) -> str:
    """Give the page as text. It loads nothing from elsewhere; all charts share their axes, to be compared."""
    heading = f"{results.jobs:,} jobs: {results.trace}"
    slots = "1 slot" if results.slots == 1 else f"{results.slots} slots"
    scale = scale_of(*(run.samples for run in results.runs))
    charts = "\n".join(
        f"<figure>{chart_svg(run.samples, title=run.name, scale=scale)}</figure>" for run in results.runs
    )
    return _PAGE.format(
        heading=html.escape(heading),
        how=html.escape(f"{slots} per worker. Start delay: {results.start_delay}."),
        heads="".join(f'<th scope="col">{head}</th>' for head in _HEADS),
        rows="\n".join(_row(run) for run in results.runs),
        meanings="".join(f"<dt>{name}</dt><dd>{meaning}</dd>" for name, _, meaning in _USES),
        bars=_bars(results.runs),
        charts=charts,
    )


def _row(run: Run) -> str:
    waits = (run.wait_p50_s, run.wait_p95_s, run.wait_p99_s, run.wait_max_s)
    hours = (run.worker_hours, *_hours(run))
    cells = (
        *(f"{wait:,.1f} s" for wait in waits),
        *(f"{value:,.2f} h" for value in hours),
        *(f"{count:,}" for count in (run.scale_actions, run.most_workers, run.unfinished)),
    )
    name = html.escape(run.name)
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _hours(run: Run) -> tuple[float, float, float, float]:
    """Give worker-hours in the order of ``_USES``."""
    spent = run.spent
    return spent.busy_s / 3600, spent.idle_s / 3600, spent.starting_s / 3600, spent.wasted_s / 3600


def _bars(runs: Sequence[Run]) -> str:
    """Draw each run's worker-hours as one bar, parted by use."""
    left = 24 + 7 * max((len(run.name) for run in runs), default=0)
    right, line = 90, 34
    most = max((run.worker_hours for run in runs), default=0.0) or 1.0
    per_hour = (760 - left - right) / most
    height = 30 + line * len(runs)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" height="{height}" role="img"'
        ' aria-label="Worker-hours by use" font-family="system-ui, sans-serif" font-size="12" fill="currentColor">',
    ]
    for index, (name, color, _) in enumerate(_USES):
        at = left + 110 * index
        parts.append(
            f'<rect x="{at}" y="4" width="12" height="12" fill="{color}"/><text x="{at + 18}" y="14">{name}</text>'
        )
    for index, run in enumerate(runs):
        y = 30 + line * index
        x = float(left)
        parts.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{html.escape(run.name)}</text>')
        for (_, color, _), value in zip(_USES, _hours(run), strict=True):
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{value * per_hour:.1f}" height="22" fill="{color}"/>'
            )
            x += value * per_hour
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 16}">{run.worker_hours:,.2f} h</text>')
    return "\n".join([*parts, "</svg>"])


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Elasticity: {heading}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }}
th, td {{ text-align: right; padding: .3rem .5rem; white-space: nowrap; }}
th:first-child {{ text-align: left; padding-left: 0; }}
tr + tr > * {{ border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); }}
dt {{ float: left; clear: left; width: 6rem; font-weight: 600; }}
dd {{ margin-left: 6rem; }}
figure {{ margin: 2rem 0; }}
svg {{ max-width: 100%; height: auto; }}
</style>
</head>
<body>
<h1>{heading}</h1>
<p>{how} Waiting is from a job's arrival to its start; worker-hours are counted from a worker's order to its end.</p>
<div class="scroll"><table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
<h2>What the worker-hours were spent on</h2>
{bars}
<dl>{meanings}</dl>
<h2>Queue depth and workers</h2>
{charts}
</body>
</html>
"""
