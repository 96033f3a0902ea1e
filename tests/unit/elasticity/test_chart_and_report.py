from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from lakeshore_elasticity import FullyElastic, MaxCount
from lakeshore_elasticity.simulator import (
    KedaHpa,
    Scale,
    Trace,
    chart_svg,
    render_report,
    scale_of,
    simulate,
)

ROWS = [(0.0, 0, 0, 0, 0), (10.0, 8, 0, 8, 8), (40.0, 2, 6, 8, 6), (100.0, 0, 0, 0, 0)]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg, color):
    """The points of a line, as (x, y) in the order drawn: a step is a move across and a move up or down."""
    root = ET.fromstring(svg)
    path = next(one for one in root.iter(f"{SVG}path") if one.get("stroke") == color)
    return [(float(x), float(y)) for x, y in re.findall(r"[MH]([\d.]+)[ V]([\d.]+)", path.get("d"))]


def texts(svg):
    return [one.text for one in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_chart_names_its_axes_and_lines():
    words = texts(chart_svg(ROWS, title="A demo"))
    for word in ("A demo", "jobs", "workers", "queued", "leased", "workers wanted", "workers alive"):
        assert word in words
    assert "time (seconds)" in words


def test_a_line_is_as_high_as_its_values_and_as_wide_as_its_times():
    queued = drawn(chart_svg(ROWS, title=""), "#d9641e")
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = queued
    assert (x1 - x0, x2 - x0) == pytest.approx(((x3 - x0) * 0.1, (x3 - x0) * 0.4), abs=0.2)
    assert (y0 - y1, y0 - y2) == pytest.approx((4 * (y0 - y2), (y0 - y1) / 4), abs=0.4)
    assert y3 == y0


def test_charts_with_one_scale_have_the_same_axes():
    small = [(0.0, 1, 0, 1, 1), (50.0, 0, 1, 1, 1)]
    scale = scale_of(ROWS, small)
    assert scale == Scale(seconds=100.0, jobs=8, workers=8)
    ticks = [texts(chart_svg(rows, title="x", scale=scale)) for rows in (ROWS, small)]
    assert ticks[0] == ticks[1]


@pytest.mark.parametrize(("seconds", "unit"), [(90, "seconds"), (3_600, "minutes"), (86_400, "hours")])
def test_the_time_axis_is_in_a_unit_that_fits(seconds, unit):
    words = texts(chart_svg([(0.0, 0, 0, 0, 0), (float(seconds), 1, 1, 1, 1)], title=""))
    assert f"time ({unit})" in words


def test_a_chart_of_nothing_says_so():
    assert "nothing was sampled" in texts(chart_svg([], title="empty"))


@pytest.mark.parametrize("rows", [[(0.0, 0, 0, 0, 0)], [(5.0, 3, 1, 2, 2)], [(0.0, 10**6, 1, 1, 1)]])
def test_one_sample_is_enough(rows):
    assert len(drawn(chart_svg(rows, title=""), "#d9641e")) == 1


def test_a_long_series_is_drawn_by_its_peaks_in_a_small_file():
    rows = [(float(at), 1, 1, 1, 1) for at in range(100_000)]
    rows[54_321] = (54_321.0, 500, 1, 1, 1)
    svg = chart_svg(rows, title="long")
    assert len(svg) < 200_000
    points = drawn(svg, "#d9641e")
    assert min(y for _, y in points) == pytest.approx(points[0][1] - 130 * 499 / 500, abs=1.0)


def test_a_title_cannot_become_markup():
    svg = chart_svg(ROWS, title='<script>"&')
    assert "<script>" not in svg
    assert '<script>"&' in texts(svg)


@pytest.fixture(scope="module")
def results():
    jobs = Trace.of([(at / 10, 5.0) for at in range(60)], "three <b>shapes</b>")
    policies = {"plain": FullyElastic(), "at most 4 <i>": MaxCount(max=4), "KEDA+HPA": KedaHpa()}
    return simulate(policies, jobs, start_delay=5.0)


class Balance(HTMLParser):
    """Checks that every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_is_one_whole_page_with_a_chart_for_each_run(results):
    page = Balance()
    page.feed(render_report(results))
    page.close()
    assert page.open == []
    assert page.seen.count("svg") == 1 + 3
    assert page.seen.count("tr") == 1 + 3
    assert "script" not in page.seen


def test_a_report_tells_the_numbers_of_each_run(results):
    page = render_report(results)
    for run in results.runs:
        assert f"<td>{run.wait_p95_s:,.1f} s</td>" in page
        assert f"<td>{run.worker_hours:,.2f} h</td>" in page
    assert "60 jobs" in page


def test_a_report_loads_nothing_from_elsewhere_and_suits_light_and_dark(results):
    page = render_report(results)
    assert not re.search(r"\b(src|href)=|url\(|@import", page)
    assert set(re.findall(r"https?://[^\"]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "color-scheme: light dark" in page
    assert "currentColor" in page


def test_names_in_a_report_cannot_become_markup(results):
    page = render_report(results)
    assert "<b>" not in page
    assert "<i>" not in page
    assert "three &lt;b&gt;shapes" in page
