"""What the demo found, in words and as a page with a chart."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakeshore_elasticity.simulator import chart_svg


@dataclass
class Facts:
    """Everything that the summary and the report tell."""

    files: int
    lines_read: int = 0
    functions: int = 0
    classes: int = 0
    branches: int = 0
    unparsed: int = 0
    longest: dict[str, Any] = field(default_factory=dict)
    biggest: list[tuple[int, str]] = field(default_factory=list)
    census_s: float = 0.0
    streamed: int = 0
    attempts: int = 0
    recovered_s: float = 0.0
    to_zero_s: float = 0.0
    back_to_zero: bool = False
    samples: list[tuple[float, int, int, int, int]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    decisions: int | None = None

    @property
    def most_workers(self) -> int:
        """The most workers that were there at once."""
        return max((sample[4] for sample in self.samples), default=0)

    @property
    def ok(self) -> bool:
        """Whether the demo showed what it set out to show."""
        return (
            self.streamed > 0
            and self.attempts >= 2
            and self.back_to_zero
            and self.most_workers > 1
            and self.lines_read > 0
        )

    def add(self, row: dict[str, Any]) -> None:
        """Take in the measurements of one file."""
        self.lines_read += row["lines"]
        if "unparsed" in row:
            self.unparsed += 1
            return
        self.functions += row["functions"]
        self.classes += row["classes"]
        self.branches += row["branches"]
        self.biggest = sorted([*self.biggest, (row["lines"], row["path"])], reverse=True)[:8]
        longest = row["longest"]
        if longest and longest["lines"] > self.longest.get("lines", 0):
            self.longest = {**longest, "path": row["path"]}

    def lines(self) -> list[tuple[str, str]]:
        """Give the summary as names and values."""
        found = [
            ("source files", f"{self.files:,} ({self.unparsed} wrong on purpose)"),
            ("lines", f"{self.lines_read:,}"),
            ("functions, classes", f"{self.functions:,}, {self.classes:,}"),
            ("branches", f"{self.branches:,}"),
            ("longest function", f"{self.longest.get('name')}, {self.longest.get('lines')} lines"),
            ("census", f"{self.census_s:.1f} s, {self.files / max(self.census_s, 1e-9):,.0f} files/s"),
            ("values streamed", str(self.streamed)),
            ("job whose worker was killed", f"attempt {self.attempts} ended {self.recovered_s:.1f} s after"),
            ("workers", f"0 -> {self.most_workers} -> {0 if self.back_to_zero else 'not 0'}"),
        ]
        if self.decisions is not None:
            found.append(("decisions", f"{self.decisions} kept by the control plane"))
        return found


def write_report(path: Path, facts: Facts) -> None:
    """Write the page: one file, nothing loaded from elsewhere."""
    page = _PAGE.format(
        chart=chart_svg(facts.samples, title="Queue depth and workers"),
        rows="".join(
            f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts.lines()
        ),
        events=_text("\n".join(facts.events)),
        biggest="".join(
            f"<tr><td>{lines:,}</td><td><code>{_text(Path(name).name)}</code></td></tr>"
            for lines, name in facts.biggest
        ),
    )
    path.write_text(page, encoding="utf-8")


def _text(text: str) -> str:
    return html.escape(text)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Lakeshore demo</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ text-align: left; padding: .25rem 1rem .25rem 0; font-weight: normal; vertical-align: top; }}
th {{ opacity: .7; }}
pre {{ white-space: pre-wrap; font-size: 13px; }}
svg {{ max-width: 100%; height: auto; }}
</style>
<h1>A census of the standard library</h1>
<p>Every source file was parsed by a job on the queue <code>census</code>, on workers that came with the work
and went when there was none.</p>
{chart}
<table>{rows}</table>
<h2>What the pool decided, and why</h2>
<pre>{events}</pre>
<h2>Largest files</h2>
<table><tr><th>lines</th><th>file</th></tr>{biggest}</table>
</html>
"""
