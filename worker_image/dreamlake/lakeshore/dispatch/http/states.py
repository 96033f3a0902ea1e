"""States, rows and outcomes, from the control plane's spelling to the SDK's and back.

The control plane tells two ends apart that the SDK knows under one name: ``timeout``, a deadline that passed, is
``failed`` here. And what was ``cancelled`` is ``killed`` there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dreamlake.lakeshore.dispatch.plane import Outcome, State
from dreamlake.lakeshore.errors import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

_FROM_WIRE = {"killed": "cancelled", "timeout": "failed"}
_TO_WIRE = {"cancelled": ("killed",), "failed": ("failed", "timeout")}


def state_of(wire: object) -> State:
    """Give the SDK's name of a state."""
    return cast("State", _FROM_WIRE.get(str(wire), wire))


def wire_states(state: str) -> tuple[str, ...]:
    """Give the control plane's names of what the SDK calls ``state``."""
    return _TO_WIRE.get(state, (state,))


def row_of(raw: Mapping[str, Any]) -> dict[str, object]:
    """Read an invocation's row: the fields of the local plane, and what the control plane has beside them."""
    row = dict(raw)
    row["state"] = state_of(row.get("state"))
    due = row.pop("due_at", None)
    row.setdefault("due", due)
    error = row.get("error")
    row["error"] = None if error is None else ErrorInfo.from_dict(error).to_dict()
    return row


def outcome_of(raw: Mapping[str, Any]) -> Outcome:
    """Read how an invocation ended."""
    error = raw.get("error")
    return Outcome(
        str(raw["invocation_id"]),
        state_of(raw["state"]),
        raw.get("result_blob"),
        None if error is None else ErrorInfo.from_dict(error),
        int(raw.get("attempt") or 0),
    )
