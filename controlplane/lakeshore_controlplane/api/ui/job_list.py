"""The newest jobs of a queue, by state, a page at a time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakeshore_controlplane.api.ui import paths
from lakeshore_controlplane.api.ui.markup import Markup, Part, html, join
from lakeshore_controlplane.api.ui.tables import badge, link, table, tabs
from lakeshore_controlplane.api.ui.words import NOTHING, ago, span
from lakeshore_controlplane.documents import INVOCATION_STATES

PER_PAGE = 50
_COLUMNS = ("Job", "State", "Submitted", "#Took", "#Attempt", "Worker", "Error")
_LONGEST_ERROR = 160


def job_list(
    namespace: str,
    queue: str,
    rows: Sequence[Mapping[str, object]],
    *,
    state: str,
    page_number: int,
    last_page: bool,
    now: float,
) -> Markup:
    """Make the list of ``rows``, the newest first, of which the pages before ``page_number`` are skipped."""
    begin = (page_number - 1) * PER_PAGE
    shown = rows[begin : begin + PER_PAGE]
    choices = [("all", paths.queue(namespace, queue))]
    choices += [(name, paths.queue(namespace, queue, state=name)) for name in INVOCATION_STATES]
    query = {"state": state} if state else {}
    links = []
    if page_number > 1:
        links.append(link(paths.queue(namespace, queue, **query, page=page_number - 1), "Newer"))
    if len(rows) > begin + PER_PAGE and not last_page:
        links.append(link(paths.queue(namespace, queue, **query, page=page_number + 1), "Older"))
    return html(
        '{tabs}{table}<nav class="pages" aria-label="Pages of jobs">{links}</nav>',
        tabs=tabs("Jobs by state", choices, state or "all"),
        table=table(
            "Jobs",
            _COLUMNS,
            [(str(row["id"]), _cells(namespace, row, now)) for row in shown],
            f"No {state} jobs." if state else "No jobs.",
        ),
        links=join(links),
    )


def _cells(namespace: str, row: Mapping[str, object], now: float) -> list[Part]:
    return [
        html(
            '<span class="name">{job}</span>', job=link(paths.job(namespace, str(row["id"])), str(row["id"]))
        ),
        badge(str(row["state"])),
        ago(row["submitted_at"], now),
        took(row, now),
        str(row["attempt"]),
        None
        if row["worker"] is None
        else html('<span class="name">{worker}</span>', worker=str(row["worker"])),
        _error(row["error"]),
    ]


def took(row: Mapping[str, object], now: float) -> str:
    """Say how long the last attempt took, or takes so far."""
    begun, ended = row["started_at"], row["finished_at"]
    if not isinstance(begun, int | float):
        return NOTHING
    if isinstance(ended, int | float):
        return span(ended - begun)
    return span(now - begun) if row["state"] == "running" else NOTHING


def _error(error: object) -> Part:
    if not isinstance(error, Mapping):
        return None
    text = f"{error.get('type')}: {error.get('message')}".partition("\n")[0]
    return html('<span class="error">{text}</span>', text=text[:_LONGEST_ERROR])
