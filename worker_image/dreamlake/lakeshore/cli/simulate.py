"""``lakeshore simulate``: try elasticity policies on a trace of jobs, before any worker is paid for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dreamlake.lakeshore.cli.output import JsonFlag, duration, print_json, print_table
from dreamlake.lakeshore.errors import ConfigError
from lakeshore_elasticity import Policy, PolicyError, parse_policy

if TYPE_CHECKING:
    from dreamlake.lakeshore.pool.queue_file import QueueSpec
    from lakeshore_elasticity.simulator import KedaHpa, Results, Trace

EXAMPLES: dict[str, dict[str, Any]] = {
    "fixed": {"replicas": 8},
    "fully_elastic": {},
    "pool_with_threshold": {"warm": 1, "threshold": 1, "max": 100},
    "max_count": {"max": 8},
}
"""Fields that a kind needs when the command line gives its name alone."""
USES = ("busy", "idle", "starting", "wasted")


def simulate(
    queue: Annotated[
        Path | None, typer.Option("--queue", "-q", help="queue.yaml whose policies are tried.")
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="KIND[,FIELD=VALUE...]",
            help="A policy to try, such as max-count,max=20; may be repeated.",
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option("--shape", "-s", help="Jobs: steady, burst, diurnal, long-tail or batches."),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", "-t", help="Jobs: a CSV of time,duration in seconds.")
    ] = None,
    start_delay: Annotated[
        float,
        typer.Option(
            "--start-delay", min=0.0, help="Mean seconds from a worker's order until it takes jobs."
        ),
    ] = 90.0,
    slots: Annotated[
        int | None, typer.Option("--slots", min=1, help="Jobs that a worker runs at once.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page with charts here.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Replay jobs under elasticity policies and under KEDA+HPA: waiting, workers paid for, charts.

    Without --policy and --queue, fully-elastic is tried; without --shape and --trace, the burst.
    """
    from lakeshore_elasticity.simulator import LognormalDelay  # noqa: PLC0415 - needed by this command alone
    from lakeshore_elasticity.simulator import simulate as replay  # noqa: PLC0415

    if not math.isfinite(start_delay):
        raise ConfigError(f"--start-delay {start_delay}: give a number of seconds from 0")
    specs = _specs(queue)
    results = replay(
        _contestants(specs, policies or []),
        _jobs(shape, trace, seed),
        slots=_slots(specs, queue) if slots is None else slots,
        start_delay=LognormalDelay(start_delay),
        seed=seed,
    )
    if out is not None:
        _write_report(out, results)
    if as_json:
        print_json(results.to_dict())
        return
    _show(results, out)


def _specs(queue: Path | None) -> list[QueueSpec]:
    if queue is None:
        return []
    from dreamlake.lakeshore.pool.queue_file import read_queue_file  # noqa: PLC0415 - yaml for this alone

    return read_queue_file(queue)


def _slots(specs: list[QueueSpec], queue: Path | None) -> int:
    found = {spec.worker.concurrency for spec in specs} or {1}
    if len(found) > 1:
        raise ConfigError(
            f"{queue}: its queues differ in spec.worker.concurrency: give --slots, or a file with one of them"
        )
    return found.pop()


def _contestants(specs: list[QueueSpec], asked: list[str]) -> dict[str, Policy | KedaHpa]:
    """Give the runs by name, the baselines last."""
    from lakeshore_elasticity.simulator import baselines  # noqa: PLC0415

    tried = {f"queue {spec.name}": spec.policy for spec in specs}
    tried.update({text: _policy(text) for text in asked or ([] if tried else ["fully_elastic"])})
    return {**tried, **{baseline.name: baseline for baseline in baselines(tried.values())}}


def _policy(text: str) -> Policy:
    kind, *rest = [part.strip() for part in text.split(",")]
    raw: dict[str, Any] = dict(EXAMPLES.get(kind.replace("-", "_"), {}))
    for part in rest:
        path, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"--policy {text}: {part!r} is not FIELD=VALUE, as in max-count,max=20")
        section, dot, name = path.partition(".")
        fields = raw.setdefault(section, {}) if dot else raw
        if not isinstance(fields, dict):
            raise ConfigError(f"--policy {text}: {section} has no fields of its own")
        fields[name if dot else path] = _value(value)
    try:
        return parse_policy({"kind": kind, **raw}, hyphens=True)
    except PolicyError as exc:
        raise ConfigError(f"--policy {text}: {exc}") from exc


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _jobs(name: str | None, path: Path | None, seed: int) -> Trace:
    from lakeshore_elasticity.simulator import TraceError, load_trace  # noqa: PLC0415
    from lakeshore_elasticity.simulator import shape as built_in  # noqa: PLC0415

    if name is not None and path is not None:
        raise ConfigError("--shape and --trace: give one of them")
    try:
        return load_trace(path) if path is not None else built_in(name or "burst", seed)
    except TraceError as exc:
        raise ConfigError(str(exc) if path is not None else f"--shape {exc}") from exc


def _write_report(path: Path, results: Results) -> None:
    from lakeshore_elasticity.simulator import render_report  # noqa: PLC0415

    try:
        path.write_text(render_report(results), encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"--out {path}: {exc.strerror}") from exc


def _show(results: Results, out: Path | None) -> None:
    jobs = "1 job" if results.jobs == 1 else f"{results.jobs:,} jobs"
    typer.echo(f"{jobs} ({results.trace}); waiting, and hours of workers by what they did")
    print_table(
        ("POLICY", "P50", "P95", "P99", "HOURS", *(use.upper() for use in USES), "ACTIONS", "MOST"),
        [
            (
                run.name,
                duration(run.wait_p50_s),
                duration(run.wait_p95_s),
                duration(run.wait_p99_s),
                f"{run.worker_hours:.2f}",
                *(f"{run.to_dict()['worker_s'][use] / 3600:.2f}" for use in USES),
                str(run.scale_actions),
                str(run.most_workers),
            )
            for run in results.runs
        ],
        empty="nothing was tried",
    )
    for run in results.runs:
        if run.unfinished:
            typer.echo(f"{run.name}: {run.unfinished:,} jobs never ran: it never had a worker for them")
    if out is not None:
        typer.echo(f"charts in {out}")
