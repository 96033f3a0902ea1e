"""Everything one run found, and the rows of the report that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from yardstick.claiming import ClaimTimes, Kind
from yardstick.figures import Spread
from yardstick.http_results import HttpFigures
from yardstick.machine import Machine
from yardstick.streaming import StreamFigures
from yardstick.throughput import OwnFigures
from yardstick.verdicts import Bar, PeerFigures, Row, best_latency, best_rate, ratio

NOT_ASKED = "left out of this run"
NO_CLUSTER = "this version runs on no cluster yet"


@dataclass(slots=True)
class Results:
    """The figures of one run.

    ``failed`` tells by measure why one of ours has none, ``skipped`` what needs another machine.
    """

    machine: Machine
    date: str
    settings: dict[str, int | float]
    own: OwnFigures = field(default_factory=OwnFigures)
    in_process: OwnFigures = field(default_factory=OwnFigures)
    peers: list[PeerFigures] = field(default_factory=list)
    idle_percent: list[float] = field(default_factory=list)
    parent_mib: list[float] = field(default_factory=list)
    slot_mib: list[float] = field(default_factory=list)
    import_ms: list[float] = field(default_factory=list)
    claims: dict[Kind, ClaimTimes] = field(default_factory=dict)
    simulation_s: list[float] = field(default_factory=list)
    stream: StreamFigures = field(default_factory=StreamFigures)
    http: HttpFigures = field(default_factory=HttpFigures)
    others_percent: float = 0.0
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def row(self, part: str, measure: str, unit: str, values: list[float], bar: Bar | None = None) -> Row:
        """Make a row of repeats; without any it says why."""
        if not values:
            return Row(
                measure, unit, bar=bar, absent=self.failed.get(part) or self.skipped.get(part, NOT_ASKED)
            )
        return Row(measure, unit, Spread.of(values), bar)


def speed_rows(results: Results) -> list[Row]:
    """Give the rows of throughput and latency."""
    own, inside = results.own, results.in_process
    row, jobs = results.row, f"{results.settings['jobs']:,}"
    return [
        row("map", f"`map` of {jobs} no-ops, one worker", "jobs/s", own.map_per_s),
        _rate_ratio(results, batch=False),
        _rate_ratio(results, batch=True),
        row("map", "the same, worker `--in-process`", "jobs/s", inside.map_per_s),
        row("map", "submitted and awaited one by one, as the peers' jobs are", "jobs/s", own.loop_per_s),
        row("map", "one call at a time, p50", "ms", own.p50_ms, Bar("at_most", 2.0, "<= 2 ms")),
        _latency_ratio(results),
        row("map", "one call at a time, p99", "ms", own.p99_ms),
        row("map", "one call at a time, p50, worker `--in-process`", "ms", inside.p50_ms),
    ]


def _rate_ratio(results: Results, *, batch: bool) -> Row:
    best = best_rate(results.peers, batch=batch)
    how = "by their own batch verbs, where faster" if batch else "one by one"
    bar = None if batch else Bar("at_least", 10.0, ">= 10 x")
    if best is None or not results.own.map_per_s:
        return Row(f"`map` over the best peer, {how}", "x", None, bar, results.failed.get("map", NOT_ASKED))
    name, rate = best
    figure = ratio(Spread.of(results.own.map_per_s), rate)
    return Row(f"`map` over the best peer, {how}: {name}", "x", figure, bar)


def _latency_ratio(results: Results) -> Row:
    best = best_latency(results.peers)
    bar = Bar("at_most", 0.5, "<= 0.5 x")
    if best is None or not results.own.p50_ms:
        return Row("p50 over the best peer's", "x", None, bar, results.failed.get("map", NOT_ASKED))
    name, latency = best
    return Row(f"p50 over the best peer's: {name}", "x", ratio(Spread.of(results.own.p50_ms), latency), bar)


def claim_rows(results: Results) -> list[Row]:
    """Give the rows of single claims, by queue kind."""
    few, many = f"{results.settings['few']:,}", f"{results.settings['many']:,}"
    bar = Bar("at_most", 2.0, "<= 2 x")
    if not results.claims:
        return [
            Row(f"claim p99, {many} rows over {few}", bar=bar, absent=results.failed.get("claim", NOT_ASKED))
        ]
    rows = []
    for kind, times in results.claims.items():
        row, judged = results.row, None if kind == "boltzmann" else bar
        rows += [
            row("claim", f"{kind}: p50, {few} rows", "ms", times.few_p50),
            row("claim", f"{kind}: p50, {many} rows", "ms", times.many_p50),
            row("claim", f"{kind}: p99, {few} rows", "ms", times.few_p99),
            row("claim", f"{kind}: p99, {many} rows", "ms", times.many_p99),
            row("claim", f"{kind}: p99, {many} rows over {few}", "x", times.ratios, judged),
        ]
    return rows


def cost_rows(results: Results) -> list[Row]:
    """Give the rows of what a worker, an import and a simulation cost."""
    row, seconds = results.row, f"{results.settings['idle_s']:g}"
    return [
        row(
            "idle",
            f"idle worker with its slot, over {seconds} s",
            "% of a core",
            results.idle_percent,
            Bar("under", 0.5, "< 0.5 %"),
        ),
        row(
            "memory",
            "worker's parent process after 1,000 jobs, resident",
            "MiB",
            results.parent_mib,
            Bar("under", 60.0, "< 60 MiB"),
        ),
        row("memory", "its slot's process, resident", "MiB", results.slot_mib),
        row(
            "import",
            "`import dreamlake.lakeshore`",
            "ms",
            results.import_ms,
            Bar("under", 30.0, "< 30 ms"),
        ),
        row(
            "simulate",
            f"{results.settings['simulated']:,} simulated jobs, some 200 workers",
            "s",
            results.simulation_s,
            Bar("under", 20.0, "< 20 s"),
        ),
    ]


def stream_rows(results: Results) -> list[Row]:
    """Give the rows of streaming."""
    row, stream, frames = results.row, results.stream, f"{results.settings['frames']:,}"
    return [
        row(
            "stream",
            f"{frames} frames, one producer, one reader",
            "frames/s",
            stream.frames_per_s,
            Bar("at_least", 20_000.0, ">= 20,000/s"),
        ),
        row(
            "stream",
            "first frame, from submit to the reader, p50",
            "ms",
            stream.submit_to_reader_ms,
            Bar("under", 10.0, "< 10 ms"),
        ),
        row(
            "stream", "first frame, from the body's yield to the reader, p50", "ms", stream.yield_to_reader_ms
        ),
    ]


def later_rows() -> list[Row]:
    """Give the bars of parts that this version does not have."""
    bars = {
        "cluster: submit to pod created, p50": Bar("under", 250.0, "< 250 ms"),
        "cluster: submit to pod created, p95": Bar("under", 1000.0, "< 1 s"),
    }
    return [Row(measure, bar=bar, absent=NO_CLUSTER) for measure, bar in bars.items()]
