"""One job: how it is, why it failed, what it belongs to, what it streamed and printed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from lakeshore_controlplane.api.routing import Routes
from lakeshore_controlplane.api.ui import paths
from lakeshore_controlplane.api.ui.frame_text import frame_text
from lakeshore_controlplane.api.ui.job_list import took
from lakeshore_controlplane.api.ui.lineage_tree import Node, plan_tree
from lakeshore_controlplane.api.ui.markup import Markup, Part, html, join
from lakeshore_controlplane.api.ui.newest import Newest, newest
from lakeshore_controlplane.api.ui.tables import badge, facts, link, table
from lakeshore_controlplane.api.ui.visits import Visit, page
from lakeshore_controlplane.api.ui.words import ago, middle_out, size, span, terminal_text, utc
from lakeshore_controlplane.faults import BadRequest, NotFound
from lakeshore_controlplane.names import check_invocation
from lakeshore_controlplane.services.lookups import Lookups, ShownRow

routes = Routes(("/ui/ns/{ns}/job",), (), "text/html", "ui")

_MOST_RELATED = 500
_LONGEST_TRACEBACK = 32_000
_LONGEST_OUTPUT = 64_000
_DEEPEST = 12
_FRAME_COLUMNS = ("#Frame", "Kind", "Content", "#Size")


@dataclass(frozen=True, slots=True)
class JobView:
    """What the page shows. ``left_out``: rows of the pipeline that the tree has no room for."""

    row: ShownRow
    tree: Sequence[Node]
    left_out: int
    frames: Newest
    output: Newest


@routes.add("GET", "")
@page("producer")
async def job(visit: Visit) -> Response:
    """Show one job."""
    given = (visit.call.text("id") or "").strip()
    if not given:
        raise BadRequest("no job id was given")
    inv_id = visit.call.checked(check_invocation, given)
    view = await _look(visit, inv_id)
    return visit.page(inv_id, job_page(visit.namespace, view, visit.now), live=True)


async def _look(visit: Visit, inv_id: str) -> JobView:
    plane, namespace = visit.call.plane, visit.namespace
    row = await plane.lookups.get(namespace, inv_id)
    if row is None:
        raise NotFound(
            f"there is no job {inv_id} in the namespace {namespace}",
            hint="it was purged, or submitted elsewhere",
        )
    related, frames, output = await asyncio.gather(
        _related(plane.lookups, namespace, row),
        newest(plane.reading, namespace, inv_id),
        newest(plane.reading, namespace, f"log:{inv_id}"),
    )
    tree, left_out = plan_tree(related, row)
    return JobView(row, tree, left_out, frames, output)


async def _related(lookups: Lookups, namespace: str, row: ShownRow) -> list[ShownRow]:
    """Give the first rows of the pipeline, and the parent wherever it stands."""
    found = await lookups.tree(namespace, str(row["root"]), limit=_MOST_RELATED)
    parent = row["parent"]
    if isinstance(parent, str) and all(known["id"] != parent for known in found):
        above = await lookups.get(namespace, parent)
        found += [] if above is None else [above]
    return found


def job_page(namespace: str, view: JobView, now: float) -> Markup:
    """Make the page."""
    row = view.row
    queue = str(row["queue"])
    return html(
        '<p class="crumbs"><a href="{up}">Queues</a> / <a href="{queue_at}">{queue}</a></p>'
        '<div class="title"><h1><code>{name}</code> {state}</h1></div>'
        '<p class="unseen" role="status" aria-live="polite">The job is {state_word}</p>'
        "{facts}{error}{lineage}<h2>Stream</h2>{frames}<h2>Printed output</h2>{output}",
        up=paths.queues(namespace),
        queue_at=paths.queue(namespace, queue),
        queue=queue,
        name=str(row["id"]),
        state=badge(str(row["state"])),
        state_word=str(row["state"]),
        facts=_facts(row, now),
        error=_error(row["error"]),
        lineage=_lineage(namespace, view),
        frames=_frames(view.frames),
        output=_output(view.output),
    )


def _facts(row: Mapping[str, object], now: float) -> Markup:
    attempt, crashes = row["attempt"], row["crashes"]
    return facts(
        {
            "attempt": f"{attempt}{f' ({crashes} of them took their worker down)' if crashes else ''}",
            "submitted": _moment(row["submitted_at"], now),
            "due": _moment(row["due"], now) if row["state"] == "queued" else None,
            "started": _moment(row["started_at"], now),
            "finished": _moment(row["finished_at"], now),
            "took": took(row, now) if row["started_at"] is not None else None,
            "worker": _text(row["worker"]),
            "lease until": _moment(row["lease_until"], now) if row["state"] == "running" else None,
            "function": _function(row["function"]),
            "key": _text(row["key"]),
            "priority": str(row["priority"]) if row["priority"] else None,
            "retries": _text(row["retries"]),
            "time limit": span(limit) if isinstance(limit := row["timeout_s"], int | float) else None,
            "deadline": _moment(row["deadline"], now),
            "correlation": _text(row["correlation_id"]),
            "code": _text(row["code_repo"]),
        }
    )


def _moment(at: object, now: float) -> Markup | None:
    if not isinstance(at, int | float):
        return None
    return html('{ago} <span class="muted">{utc}</span>', ago=ago(at, now), utc=utc(at))


def _text(value: object) -> str | None:
    return None if value is None else str(value)[:512]


def _function(function: object) -> Part:
    if not isinstance(function, Mapping):
        return None
    name = ":".join([str(function[part]) for part in ("module", "qualname") if function.get(part)])
    return html(
        "<code>{name}</code>", name=(name or str(function.get("name") or function.get("kind") or ""))[:200]
    )


def _error(error: object) -> Markup:
    if not isinstance(error, Mapping):
        return Markup()
    traceback = error.get("traceback")
    return html(
        '<h2>Error</h2><p class="problem"><b>{kind}</b>: <span class="lines">{message}</span></p>{traceback}',
        kind=str(error.get("type")),
        message=middle_out(str(error.get("message")), _LONGEST_TRACEBACK),
        traceback=None
        if not traceback
        else _long_text("Traceback", middle_out(str(traceback), _LONGEST_TRACEBACK)),
    )


def _long_text(label: str, text: str) -> Markup:
    return html(
        '<pre tabindex="0" role="region" aria-label="{label}" data-tail>{text}</pre>', label=label, text=text
    )


def _lineage(namespace: str, view: JobView) -> Markup:
    if len(view.tree) < 2 and not view.left_out and view.row["parent"] is None:
        return Markup()
    parts: list[Part] = []
    depth = -1
    for node in view.tree:
        wanted = min(node.depth, _DEEPEST)
        parts.append(
            Markup("<ul><li>" if wanted > depth else "</li>" + "</ul></li>" * (depth - wanted) + "<li>")
        )
        depth = wanted
        parts.append(_relative(namespace, node, view.row))
    parts.append(Markup("</li></ul>" * (depth + 1)))
    more = html('<p class="muted">{more} more of this pipeline are not shown</p>', more=view.left_out)
    return html(
        '<h2>Pipeline</h2><nav class="tree" aria-label="Pipeline">{tree}</nav>{more}',
        tree=join(parts),
        more=more if view.left_out else None,
    )


def _relative(namespace: str, node: Node, current: Mapping[str, object]) -> Markup:
    inv_id = str(node.row["id"])
    here = inv_id == current["id"]
    name = html('<b aria-current="page">{inv_id}</b>', inv_id=inv_id)
    return html(
        '{name} {state} <span class="muted">{queue}</span>',
        name=name if here else link(paths.job(namespace, inv_id), inv_id),
        state=badge(str(node.row["state"])),
        queue=str(node.row["queue"]),
    )


def _frames(found: Newest) -> Markup:
    rows: list[tuple[str, Sequence[Part]]] = []
    for seq, data in reversed(found.entries):
        shown = frame_text(data)
        content = html('<span class="lines">{text}</span>', text=shown.text)
        rows.append((str(seq), (str(seq), shown.kind, content, size(len(data)))))
    earlier = html(
        '<p class="muted">The newest {number} frames; there are earlier ones.</p>', number=len(rows)
    )
    return html(
        "{table}{earlier}",
        table=table("Stream", _FRAME_COLUMNS, rows, "Nothing was streamed."),
        earlier=earlier if found.earlier else None,
    )


def _output(found: Newest) -> Markup:
    if not found.entries:
        return html('<p class="muted empty">Nothing was printed.</p>')
    raw = b"".join([data for _, data in found.entries])
    text = terminal_text(raw[-_LONGEST_OUTPUT:].decode("utf-8", "replace"))
    cut = found.earlier or len(raw) > _LONGEST_OUTPUT
    return html(
        "{cut}{text}",
        cut=html('<p class="muted">The end of what was printed:</p>') if cut else None,
        text=_long_text("Printed output", text),
    )
