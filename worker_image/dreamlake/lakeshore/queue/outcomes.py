"""What an invocation's end means to whoever waited for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.errors import (
    DispatchError,
    ErrorInfo,
    InvocationCancelledError,
    InvocationFailedError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dreamlake.lakeshore.dispatch.plane import Outcome


def value_of(outcome: Outcome, on_error: str = "raise") -> Any:
    """Give the result; of one that did not succeed the error, raised, or given with ``on_error="return"``."""
    if outcome.state == "succeeded":
        return wire.unpack(outcome.result) if outcome.result else None  # acked without a result
    error = error_of(outcome)
    if on_error == "return":
        return error
    raise error


def error_of(outcome: Outcome) -> DispatchError:
    """Give the error that says how an invocation ended that did not succeed."""
    if outcome.state == "cancelled":
        return InvocationCancelledError(
            f"invocation {outcome.id} was cancelled: submit it again if it is still wanted"
        )
    return InvocationFailedError(outcome.id, outcome.error or ErrorInfo("Error", "no reason was recorded"))


def still_waiting(row: Mapping[str, object] | None, inv_id: str, timeout: float | None) -> TimeoutError:
    """Give the error of a wait that ended before the invocation with this row did."""
    row = row or {"state": "unknown", "queue": "?"}
    return TimeoutError(
        f"invocation {inv_id} still {row['state']!r} after {timeout}s: "
        + (
            f"is a worker running on the same plane? `lakeshore worker start --queue {row['queue']}`"
            if row["state"] == "queued"
            else "ask again with a longer timeout"
        )
    )


def unknown_id(inv_id: str) -> DispatchError:
    """Give the error for an id that the plane does not have."""
    return DispatchError(
        f"no invocation {inv_id} on this plane: it was purged, or submitted to another one "
        "(compare LAKESHORE_HOME or the URL on both sides)"
    )
