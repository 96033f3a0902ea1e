"""What the elasticity controller decided about a queue, with its reasons in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakeshore_controlplane.api.ui.markup import Markup, Part, html
from lakeshore_controlplane.api.ui.tables import table
from lakeshore_controlplane.api.ui.words import ago

_COLUMNS = ("When", "Decision", "Reason", "Before and after")
_WORDS = {"scale_up": "scaled up", "scale_down": "scaled down", "tick_noop": "left as it was"}
_MOST_FIELDS = 8


def decisions(events: Sequence[Mapping[str, object]], now: float) -> Markup:
    """Make the list, the newest first."""
    rows = [(f"{event['at']}/{place}", _cells(event, now)) for place, event in enumerate(events)]
    return table("Scaling decisions", _COLUMNS, rows, "No decisions yet: nothing had to be scaled.")


def _cells(event: Mapping[str, object], now: float) -> list[Part]:
    kind = str(event["kind"])
    return [
        ago(event["at"], now),
        _WORDS.get(kind, kind),
        html('<span class="reason">{reason}</span>', reason=str(event["reason"])[:1_000]),
        change_text(event["before"], event["after"]),
    ]


def change_text(before: object, after: object) -> str:
    """Say what became different: ``idle 0 → 2, busy 1 → 1`` where nothing did."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return ""
    names = [str(name) for name in dict.fromkeys([*before, *after])]
    changed = [name for name in names if before.get(name) != after.get(name)]
    return ", ".join(
        f"{name} {_value(before.get(name))} → {_value(after.get(name))}"
        for name in (changed or names)[:_MOST_FIELDS]
    )[:400]


def _value(value: object) -> str:
    return "none" if value is None else str(value)[:60]
