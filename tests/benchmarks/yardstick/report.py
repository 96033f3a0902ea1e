"""The report in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from yardstick.figures import Spread, shown
from yardstick.http_results import http_rows
from yardstick.results import Results, claim_rows, cost_rows, later_rows, speed_rows, stream_rows
from yardstick.verdicts import PeerFigures, Row

_HEAD = """# Benchmarks

`scripts/bench` measured these figures and wrote this page; change the script, not the page. Figures are the median of
the repeats, with the least and the greatest in brackets where they differ; bars are judged by the median. Only ratios
from one run compare well: absolute figures belong to this machine on that day.
"""

_CAVEATS = """## How to read this

- Every job adds two small integers, so the figures show what a queue costs and not how fast work gets done. The
  longer the bodies run, the less the differences between queues matter.
- Peers and Lakeshore have one worker with one slot each, run on the same machine in the same run, and take turns: in
  every round Lakeshore is measured before and after the peers. Lakeshore's worker runs bodies in a process of its own.
  Peers are given fewer jobs (`peer_jobs` below) than `map` is, since many of them would take minutes.
- A peer's *one by one* jobs are submitted in a loop and then awaited in a loop, which is the everyday way. *Batch* is
  the peer's own verb for many jobs where it has one (RQ `enqueue_many`, Ray `get` of a list, Dask `map`, Taskiq 100
  at a time). Lakeshore's `map` is its batch verb, so the fair comparison of verbs is the second ratio; the row of
  jobs submitted one by one compares the everyday ways.
- The peers on Redis keep their jobs in memory alone (no snapshots, no log). Lakeshore and Huey on SQLite write to a
  file; Lakeshore does not wait for the disk (`durable=False`, the default): a killed process loses nothing, a power
  failure may lose the last moments. Ray and Dask keep jobs in memory.
- The control plane has one replica, a Redis in memory alone and a document server: MongoDB's own where it is installed,
  else SecantusDB's. SecantusDB hands each write to the system before it answers and to the disk soon after, so that
  a killed server loses nothing; MongoDB gathers writes in its journal for up to 100 ms. Each job there is three writes
  of its row (submit, claim, end), which the peers do not have.
- Settings are the peers' defaults but for: RQ's worker without a fork per job, Celery's prefetch 16, Huey polling
  every 10 ms, result polling every 1 to 2 ms where a peer polls. Tuning may serve each of them better.
- Ours submit and await in one process on few cores: producer, worker and slot share them, as do the peers and Redis.
- Other processes on the machine (their share is above) disturb every figure, and not all alike. Where their share is
  more than a few percent, or the ranges are wide, run it again on a quiet machine before trusting a verdict.
- A ratio's range pairs the worst repeat of one side with the best of the other.
- The smallest processor time that shows is one tick (10 ms): an idle figure of 0 means less than that.
"""


def render(results: Results) -> str:
    """Write the whole page."""
    parts = [
        _HEAD,
        _machine(results),
        _section("Speed", speed_rows(results)),
        _section("Claims", claim_rows(results)),
        _section("Cost", cost_rows(results)),
        _section("Streaming", stream_rows(results)),
        _section("Control plane, over HTTP", http_rows(results)),
        peers_table(results.peers),
        _section("Later", later_rows()),
        _CAVEATS,
        _rerun(results),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def summary(results: Results) -> list[Row]:
    """Give all rows that are judged by a bar."""
    rows = [*speed_rows(results), *claim_rows(results), *cost_rows(results), *stream_rows(results)]
    rows += http_rows(results)
    return [row for row in rows if row.bar is not None]


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Write a table; a bar in a cell is escaped."""
    cells = [head, ["---"] * len(head), *[[cell.replace("|", "\\|") for cell in line] for line in lines]]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _section(title: str, rows: Sequence[Row]) -> str:
    lines = [[row.measure, row.bar.text if row.bar else "", row.measured, row.verdict] for row in rows]
    return f"## {title}\n\n{table(['measure', 'bar', 'measured', ''], lines)}\n"


def peers_table(peers: Sequence[PeerFigures]) -> str:
    """Write what each peer reached; one that did not run has its reason in its line."""
    lines = []
    for peer in peers:
        figures = [_cell(each) for each in (peer.loop_per_s, peer.batch_per_s, peer.p50_ms, peer.p99_ms)]
        lines.append([peer.name, peer.version, *figures, peer.absent])
    if not lines:
        return "## Peers\n\nThe peers were left out of this run.\n"
    head = ["peer", "version", "one by one, jobs/s", "batch, jobs/s", "p50, ms", "p99, ms", "not run because"]
    return f"## Peers\n\n{table(head, lines)}\n"


def _cell(values: Sequence[float]) -> str:
    return shown(Spread.of(values)) if values else "-"


def _machine(results: Results) -> str:
    found = results.machine
    facts = [
        ("date", results.date),
        ("processor", f"{found.cpu}, {found.cores} cores"),
        ("memory", f"{found.memory_gib:.0f} GiB"),
        ("system", found.system),
        ("Python", f"{found.python}, SQLite {found.sqlite}"),
        ("load before the run", f"{found.load:.2f}"),
        ("used by other processes during the run", f"{results.others_percent:.0f} % of the machine"),
    ]
    return f"## Machine\n\n{table(['', ''], facts)}\n"


def _rerun(results: Results) -> str:
    chosen = ", ".join(f"{name} {value:g}" for name, value in results.settings.items())
    return (
        "## Again\n\n```\nscripts/bench                  # everything, about 25 minutes; writes this page\n"
        "scripts/bench --quick          # smaller numbers, one round; prints and writes nothing\n"
        "scripts/bench --only map,idle  # map, idle, memory, import, claim, stream, simulate, http\n"
        "scripts/bench --json OUT       # the figures of every repeat as JSON\n```\n\n"
        f"This run's settings: {chosen}.\n"
    )
