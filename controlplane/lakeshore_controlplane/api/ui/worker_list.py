"""The workers of a queue: how they are, and what each holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakeshore_controlplane.api.ui import paths
from lakeshore_controlplane.api.ui.markup import Markup, Part, html, join
from lakeshore_controlplane.api.ui.tables import badge, link, table
from lakeshore_controlplane.api.ui.words import NOTHING, ago

_COLUMNS = ("Worker", "State", "Holds", "Idle since", "Seen", "Host")
_MOST_WORKERS = 200
_MOST_LINKS = 4


def worker_list(
    namespace: str, workers: Sequence[Mapping[str, object]], held: Sequence[Mapping[str, object]], now: float
) -> Markup:
    """Make the list. ``held``: running jobs of the queue, for links."""
    jobs: dict[str, list[str]] = {}
    for row in held:
        jobs.setdefault(str(row["worker"]), []).append(str(row["id"]))
    rows = [
        (str(worker["id"]), _cells(namespace, worker, jobs.get(str(worker["id"]), []), now))
        for worker in workers[:_MOST_WORKERS]
    ]
    more = len(workers) - len(rows)
    return html(
        "{table}{more}",
        table=table("Workers", _COLUMNS, rows, "No workers serve this queue now."),
        more=html('<p class="muted">and {more} more</p>', more=more) if more > 0 else None,
    )


def _cells(namespace: str, worker: Mapping[str, object], jobs: Sequence[str], now: float) -> list[Part]:
    marks = [badge(str(worker["state"]))]
    marks += [badge(name) for name in ("stale", "cordoned") if worker[name]]
    return [
        html("<code>{name}</code>", name=str(worker["id"])),
        join(marks, " "),
        _held(namespace, worker, jobs),
        NOTHING if worker["idle_since"] is None else ago(worker["idle_since"], now),
        ago(worker["last_seen_at"], now),
        f"{worker['host']} ({worker['pid']})" if worker["host"] else None,
    ]


def _held(namespace: str, worker: Mapping[str, object], jobs: Sequence[str]) -> Markup:
    links = [link(paths.job(namespace, inv_id), inv_id) for inv_id in jobs[:_MOST_LINKS]]
    return html(
        '<span class="count">{leased} of {room}</span> {links}',
        leased=str(worker["leased"]),
        room=str(worker["concurrency"]),
        links=join(links, " "),
    )
