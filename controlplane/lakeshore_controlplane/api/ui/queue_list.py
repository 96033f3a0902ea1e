"""All queues of a namespace: what each is, what waits and runs, who works."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from lakeshore_controlplane.api.routing import Routes
from lakeshore_controlplane.api.ui import paths
from lakeshore_controlplane.api.ui.markup import Markup, Part, html, join
from lakeshore_controlplane.api.ui.tables import badge, link, table
from lakeshore_controlplane.api.ui.visits import LOOKERS, Visit, page
from lakeshore_controlplane.api.ui.words import NOTHING, count, span

routes = Routes(("/ui/ns/{ns}",), (), "text/html", "ui")

_PER_PAGE = 50
_COLUMNS = ("Queue", "State", "#Queued", "#Delayed", "#Running", "#Oldest", "#Workers", "Order")


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One queue with its signals and how many workers serve it, alive and stale."""

    queue: Mapping[str, object]
    signals: Mapping[str, object]
    alive: int
    stale: int


@routes.add("GET", "")
@page(*LOOKERS)
async def queues(visit: Visit) -> Response:
    """Show the queues."""
    plane, namespace = visit.call.plane, visit.namespace
    shown_page = visit.call.integer("page", 1, least=1, most=100_000)
    found, workers = await asyncio.gather(plane.queues.list(namespace), plane.workers.list(namespace))
    some = found[(shown_page - 1) * _PER_PAGE : shown_page * _PER_PAGE]
    signals = await asyncio.gather(*[plane.signals.read(namespace, str(queue["name"])) for queue in some])
    lines = [_line(queue, told, workers) for queue, told in zip(some, signals, strict=True)]
    content = queue_list(namespace, lines, total=len(found), page_number=shown_page)
    return visit.page("Queues", content, live=True)


def _line(
    queue: Mapping[str, object], signals: Mapping[str, object], workers: Sequence[Mapping[str, object]]
) -> QueueLine:
    serving = [worker for worker in workers if queue["name"] in (worker["queues"] or ["default"])]  # type: ignore[operator]
    stale = sum(1 for worker in serving if worker["stale"])
    return QueueLine(queue, signals, len(serving) - stale, stale)


def queue_list(namespace: str, lines: Sequence[QueueLine], *, total: int, page_number: int) -> Markup:
    """Make the page."""
    return html(
        '<div class="title"><h1>Queues</h1>{find}</div>'
        '<p class="muted" role="status" aria-live="polite" data-summary>{summary}</p>{table}{pages}',
        find=_find(namespace),
        summary=_summary(lines, total),
        table=table(
            "Queues",
            _COLUMNS,
            [(str(line.queue["name"]), _cells(namespace, line)) for line in lines],
            "No queues yet. The first submission makes one, and so does `lakeshore queues add NAME`.",
        ),
        pages=_pages(namespace, total, page_number),
    )


def _cells(namespace: str, line: QueueLine) -> list[Part]:
    name, signals = str(line.queue["name"]), line.signals
    waits = signals["queued"] or signals["delayed"]
    oldest = signals["oldest_age_s"]
    return [
        link(paths.queue(namespace, name), name),
        badge(str(line.queue["state"])),
        count(signals["queued"]),
        count(signals["delayed"]),
        count(signals["leased"]),
        span(oldest) if waits and isinstance(oldest, float) else NOTHING,
        _workers(line),
        str(line.queue["kind"]),
    ]


def _workers(line: QueueLine) -> Part:
    if not line.stale:
        return count(line.alive)
    return html('{alive} <span class="bad">+ {stale} stale</span>', alive=line.alive, stale=line.stale)


def _summary(lines: Sequence[QueueLine], total: int) -> str:
    queued = sum(int(str(line.signals["queued"])) for line in lines)
    running = sum(int(str(line.signals["leased"])) for line in lines)
    what = "queue" if total == 1 else "queues"
    return f"{total:,} {what}, {queued:,} waiting, {running:,} running"


def _find(namespace: str) -> Markup:
    return html(
        '<form class="find" action="{queues}/job" method="get" role="search"><label for="job" class="unseen">'
        'Job id</label><input id="job" name="id" required maxlength="128" placeholder="Job id" spellcheck="false">'
        " <button>Find</button></form>",
        queues=paths.queues(namespace),
    )


def _pages(namespace: str, total: int, page_number: int) -> Markup:
    links = []
    if page_number > 1:
        links.append(link(paths.queues(namespace, page=page_number - 1), "Earlier names"))
    if page_number * _PER_PAGE < total:
        links.append(link(paths.queues(namespace, page=page_number + 1), "Later names"))
    return (
        html('<nav class="pages" aria-label="Pages">{links}</nav>', links=join(links)) if links else Markup()
    )
