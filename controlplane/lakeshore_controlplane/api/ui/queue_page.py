"""One queue: depth, workers, jobs, decisions, and buttons for those who may move it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from lakeshore_controlplane.api.queues import VERBS
from lakeshore_controlplane.api.routing import Routes
from lakeshore_controlplane.api.ui import paths
from lakeshore_controlplane.api.ui.decisions import decisions
from lakeshore_controlplane.api.ui.job_list import PER_PAGE, job_list
from lakeshore_controlplane.api.ui.markup import Markup, Part, html, join
from lakeshore_controlplane.api.ui.shell import Shell, hidden_key
from lakeshore_controlplane.api.ui.tables import badge, facts
from lakeshore_controlplane.api.ui.visits import LOOKERS, Visit, page
from lakeshore_controlplane.api.ui.words import NOTHING, count, span
from lakeshore_controlplane.api.ui.worker_list import worker_list
from lakeshore_controlplane.documents import Scope
from lakeshore_controlplane.faults import BadRequest, NotFound
from lakeshore_controlplane.names import check_queue

routes = Routes(("/ui/ns/{ns}/queues/{queue}",), (), "text/html", "ui")

Shown = Mapping[str, object]
MOVERS: tuple[Scope, ...] = ("operator", "admin")
_MOST_PAGES = 20
_MOST_HELD = 200
_SHOWN_DECISIONS = 20
_VERBS_IN = {
    "active": ("pause", "drain", "archive"),
    "paused": ("resume", "drain", "archive"),
    "draining": ("resume", "pause", "archive"),
    "archived": ("unarchive",),
}
_EFFECT = {
    "pause": "Workers take no more jobs, and none are accepted",
    "resume": "Jobs are accepted and taken again",
    "drain": "No jobs are accepted; those that wait still run",
    "archive": "No jobs are accepted or taken until it is brought back",
    "unarchive": "Bring the queue back",
}


@dataclass(frozen=True, slots=True)
class QueueView:
    """What the page shows."""

    queue: Shown
    signals: Shown
    workers: Sequence[Shown]
    jobs: Sequence[Shown] | None
    """None: the token may not see jobs."""
    held: Sequence[Shown]
    events: Sequence[Shown]
    state: str
    page_number: int


def _name(visit: Visit) -> str:
    return visit.call.checked(check_queue, visit.call.path("queue"))


@routes.add("GET", "")
@page(*LOOKERS)
async def queue(visit: Visit) -> Response:
    """Show one queue."""
    view = await _look(visit, _name(visit))
    verbs = _VERBS_IN.get(str(view.queue["state"]), ()) if _may_move(visit) else ()
    content = queue_page(visit.namespace, view, visit.shell, verbs)
    return visit.page(str(view.queue["name"]), content, live=True)


@routes.add("POST", "/{verb}")
@page(*MOVERS)
async def move(visit: Visit) -> Response:
    """Move a queue through its lifecycle."""
    name, verb = _name(visit), visit.call.path("verb")
    if verb not in VERBS:
        raise BadRequest(f"{verb[:40]!r} cannot be done to a queue: use one of {', '.join(VERBS)}")
    await visit.call.plane.queues.set_state(visit.namespace, name, VERBS[verb])
    return RedirectResponse(paths.queue(visit.namespace, name), 303)


def _may_move(visit: Visit) -> bool:
    return any(visit.caller.allow(scope) for scope in MOVERS)


async def _look(visit: Visit, name: str) -> QueueView:
    plane, namespace = visit.call.plane, visit.namespace
    state = visit.call.text("state") or ""
    page_number = visit.call.integer("page", 1, least=1, most=_MOST_PAGES)
    found = await plane.queues.get(namespace, name)
    if found is None:
        raise NotFound(f"there is no queue {name!r} in this namespace", hint="the first submission makes one")
    signals, workers, events = await asyncio.gather(
        plane.signals.read(namespace, name),
        plane.workers.list(namespace, queue=name),
        plane.elasticity_events.list(namespace, name, limit=_SHOWN_DECISIONS),
    )
    jobs, held = None, list[dict[str, object]]()
    if visit.caller.allow("producer"):
        jobs, held = await asyncio.gather(
            # One more than is shown tells whether there is another page.
            plane.lookups.list(namespace, queue=name, state=state or None, limit=page_number * PER_PAGE + 1),
            plane.lookups.list(namespace, queue=name, state="running", limit=_MOST_HELD),
        )
    return QueueView(found, signals, workers, jobs, held, events, state, page_number)


def queue_page(namespace: str, view: QueueView, shell: Shell, verbs: Sequence[str]) -> Markup:
    """Make the page. ``verbs``: what buttons offer."""
    name, signals = str(view.queue["name"]), view.signals
    return html(
        '<p class="crumbs"><a href="{up}">Queues</a></p><div class="title"><h1><code>{name}</code> {state}</h1>'
        "{buttons}</div>"
        '<p class="unseen" role="status" aria-live="polite">{queued} waiting, {leased} running</p>'
        "{numbers}{settings}<h2>Workers</h2>{workers}<h2>Jobs</h2>{jobs}<h2>Scaling decisions</h2>{events}",
        up=paths.queues(namespace),
        name=name,
        state=badge(str(view.queue["state"])),
        buttons=_buttons(namespace, name, shell, verbs),
        queued=count(signals["queued"]),
        leased=count(signals["leased"]),
        numbers=_numbers(signals),
        settings=_settings(view.queue),
        workers=worker_list(namespace, view.workers, view.held, float(str(signals["as_of"]))),
        jobs=_jobs(namespace, name, view),
        events=decisions(view.events, float(str(signals["as_of"]))),
    )


def _jobs(namespace: str, name: str, view: QueueView) -> Markup:
    if view.jobs is None:
        return html('<p class="muted">Jobs are shown to tokens with the scope producer.</p>')
    now, last = float(str(view.signals["as_of"])), view.page_number >= _MOST_PAGES
    return job_list(
        namespace, name, view.jobs, state=view.state, page_number=view.page_number, last_page=last, now=now
    )


def _buttons(namespace: str, name: str, shell: Shell, verbs: Sequence[str]) -> Markup:
    made = [
        html(
            '<form action="{action}" method="post" data-key="{verb}">{key}<button title="{effect}">{word}</button>'
            "</form>",
            action=paths.queue_action(namespace, name, verb),
            key=hidden_key(shell),
            effect=_EFFECT[verb],
            verb=verb,
            word=verb.capitalize(),
        )
        for verb in verbs
    ]
    return html('<div class="buttons">{made}</div>', made=join(made)) if made else Markup()


def _numbers(signals: Shown) -> Markup:
    waits = signals["queued"] or signals["delayed"]
    mean, oldest = signals["mean_duration_s"], signals["oldest_age_s"]
    tiles: dict[str, Part] = {
        "queued": count(signals["queued"]),
        "delayed": count(signals["delayed"]),
        "running": count(signals["leased"]),
        "oldest waits": span(oldest) if waits and isinstance(oldest, float) else NOTHING,
        "arrived so far": count(signals["arrived"]),
        "finished so far": count(signals["finished"]),
        "a job takes": span(mean) if isinstance(mean, int | float) else NOTHING,
    }
    shown = [
        html("<div><dt>{name}</dt><dd>{value}</dd></div>", name=name, value=value)
        for name, value in tiles.items()
    ]
    return html('<dl class="tiles">{shown}</dl>', shown=join(shown))


def _settings(queue: Shown) -> Markup:
    params = _flat(queue["kind_params"])
    retention = queue["retention_s"]
    return facts(
        {
            "order": f"{queue['kind']}{f' ({params})' if params else ''}",
            "admission": _flat(queue["admission"]) or "everything",
            "elasticity": _flat(queue["elasticity"]) or "none",
            "kept after the end": span(retention) if isinstance(retention, int | float) else None,
            "declared": None if queue["declared"] else "no: it is there through its jobs",
        }
    )


def _flat(fields: object, before: str = "") -> str:
    """Write nested settings on one line: ``max_depth 100, rate_limit.rate 5``."""
    if not isinstance(fields, Mapping):
        return f"{before} {fields}".strip()[:200]
    parts = [_flat(value, f"{before}.{name}" if before else str(name)) for name, value in fields.items()]
    return ", ".join(parts[:20])
