"""What one run found of the control plane, and its rows of the report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from yardstick.depth import DepthTimes
from yardstick.figures import Spread
from yardstick.streaming import StreamFigures
from yardstick.throughput import OwnFigures
from yardstick.verdicts import Bar, Row, best_latency, best_rate, ratio

if TYPE_CHECKING:
    from yardstick.results import Results


@dataclass(slots=True)
class HttpFigures:
    """Figures of a control plane with one replica and one worker, repeat by repeat."""

    own: OwnFigures = field(default_factory=OwnFigures)
    stream: StreamFigures = field(default_factory=StreamFigures)
    depth: DepthTimes = field(default_factory=DepthTimes)
    replica_idle_percent: list[float] = field(default_factory=list)
    worker_idle_percent: list[float] = field(default_factory=list)
    crowd_mib: list[float] = field(default_factory=list)
    replica_ratios: list[float] = field(default_factory=list)


def http_rows(results: Results) -> list[Row]:
    """Give the rows of the control plane."""
    parts = [_speed_rows(results), _stream_rows(results), _cost_rows(results), _depth_rows(results)]
    return [replace(row, measure=f"HTTP: {row.measure}") for rows in parts for row in rows]


def _speed_rows(results: Results) -> list[Row]:
    own, row, jobs = results.http.own, results.row, f"{results.settings['jobs']:,}"
    return [
        row("http-map", f"`map` of {jobs} no-ops, one worker", "jobs/s", own.map_per_s),
        _rate_ratio(results),
        row("http-map", "submitted and awaited one by one, as the peers' jobs are", "jobs/s", own.loop_per_s),
        row("http-map", "one call at a time, p50", "ms", own.p50_ms),
        _latency_ratio(results),
        row("http-map", "one call at a time, p99", "ms", own.p99_ms),
    ]


def _rate_ratio(results: Results) -> Row:
    bar, best = Bar("at_least", 2.0, ">= 2 x"), best_rate(results.peers, batch=True)
    measure = "`map` over the best peer, by whichever of its verbs is faster"
    if best is None or not results.http.own.map_per_s:
        return results.row("http-map", measure, "x", [], bar)
    return Row(f"{measure}: {best[0]}", "x", ratio(Spread.of(results.http.own.map_per_s), best[1]), bar)


def _latency_ratio(results: Results) -> Row:
    bar, best = Bar("at_most", 1.0, "<= 1 x"), best_latency(results.peers)
    if best is None or not results.http.own.p50_ms:
        return results.row("http-map", "p50 over the best peer's", "x", [], bar)
    figure = ratio(Spread.of(results.http.own.p50_ms), best[1])
    return Row(f"p50 over the best peer's: {best[0]}", "x", figure, bar)


def _stream_rows(results: Results) -> list[Row]:
    row, stream, frames = results.row, results.http.stream, f"{results.settings['frames']:,}"
    first, soon = "first frame, from submit to the reader, p50", Bar("under", 10.0, "< 10 ms")
    fast = Bar("at_least", 5000.0, ">= 5,000/s")
    return [
        row(
            "http-stream", f"{frames} frames, one producer, one reader", "frames/s", stream.frames_per_s, fast
        ),
        row("http-stream", first, "ms", stream.submit_to_reader_ms, soon),
        row(
            "http-stream",
            "first frame, from the body's yield to the reader, p50",
            "ms",
            stream.yield_to_reader_ms,
        ),
    ]


def _cost_rows(results: Results) -> list[Row]:
    row, found, seconds = results.row, results.http, f"{results.settings['idle_s']:g}"
    idle, polls = Bar("under", 1.0, "< 1 %"), f"{results.settings['polls']:,}"
    return [
        row(
            "http-idle",
            f"idle control plane (one replica), over {seconds} s",
            "% of a core",
            found.replica_idle_percent,
            idle,
        ),
        row(
            "http-idle",
            f"idle worker with its slot, over {seconds} s",
            "% of a core",
            found.worker_idle_percent,
            idle,
        ),
        row(
            "http-polls",
            f"replica with {polls} idle long polls, resident",
            "MiB",
            found.crowd_mib,
            Bar("under", 500.0, "< 500 MiB"),
        ),
        row(
            "http-replicas",
            "two replicas over one, submissions of four clients",
            "x",
            found.replica_ratios,
            Bar("at_least", 1.6, ">= 1.6 x"),
        ),
    ]


def _depth_rows(results: Results) -> list[Row]:
    row, found = results.row, results.http.depth
    few, many = f"{results.settings['few']:,}", f"{results.settings['http_many']:,}"
    bar = Bar("at_most", 2.0, "<= 2 x")
    return [
        row("http-depth", f"submit: p99, {few} rows queued", "ms", found.submit_few),
        row("http-depth", f"submit: p99, {many} rows queued", "ms", found.submit_many),
        row("http-depth", f"submit: p99, {many} rows over {few}", "x", found.submit_ratios, bar),
        row("http-depth", f"claim: p99, {few} rows queued", "ms", found.claim_few),
        row("http-depth", f"claim: p99, {many} rows queued", "ms", found.claim_many),
        row("http-depth", f"claim: p99, {many} rows over {few}", "x", found.claim_ratios, bar),
        row("http-depth", f"{many} rows queued by batches of 1,000", "rows/s", found.filled_per_s),
    ]
