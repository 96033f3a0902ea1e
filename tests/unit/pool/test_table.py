"""The live table of ``lakeshore up``."""

import io

from rich.console import Console

from dreamlake.lakeshore.pool.queue_file import parse_queues
from dreamlake.lakeshore.pool.queue_pool import PoolView
from dreamlake.lakeshore.pool.table import draw
from lakeshore_elasticity import Decision, Signals, Worker

PHASES = ("starting", "ready_busy", "ready_busy", "ready_idle", "draining")


def view(name="q", reason="3 queued"):
    (spec,) = parse_queues(
        f"apiVersion: lakeshore.dreamlake.ai/v1alpha1\nkind: Queue\nmetadata: {{name: {name}}}\n",
        where="test",
    )
    workers = tuple(Worker(f"w-{n}", phase, 0.0, 0.0) for n, phase in enumerate(PHASES))
    signals = Signals(queued=12, leased=34, as_of=1.0, workers=workers)
    return PoolView(spec, signals, Decision(4, 5, reason, "tick_noop"), 56, 78, None)


def drawn(views, **more):
    out = io.StringIO()
    Console(file=out, width=140).print(draw(views, **more))
    return out.getvalue()


def test_each_queue_is_a_row_with_its_numbers_its_workers_and_the_reason():
    shown = drawn([view("one"), view("two", "all is calm")])
    for word in (
        "queue",
        "queued",
        "running",
        "delayed",
        "done",
        "workers",
        "why",
        "one",
        "two",
        "all is calm",
    ):
        assert word in shown
    for number in ("12", "34", "56", "78"):
        assert number in shown
    assert "4 of 5 (1 starting, 2 busy, 1 idle, 1 draining)" in shown


def test_the_line_below_says_how_to_stop_or_that_it_is_stopping():
    assert "Ctrl-C drains, twice stops" in drawn([view()])
    assert "Ctrl-C" not in drawn([view()], stopping="stopping")


def test_a_reason_with_brackets_is_shown_as_it_is():
    reason = "1 start failed: [bold]x[/red] [Errno 2]"
    assert reason in drawn([view(reason=reason)])
