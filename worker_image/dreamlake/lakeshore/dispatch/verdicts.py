"""The errors that waiting and reading end with: the same words on every plane."""

from __future__ import annotations

from collections.abc import Mapping

from dreamlake.lakeshore.errors import (
    DispatchError,
    ErrorInfo,
    InvocationCancelledError,
    InvocationFailedError,
)

WORKER_ALIVE_S = 60.0
"""Seconds since its last heartbeat that a worker is taken to be there."""


def unknown_invocation(inv_id: str) -> DispatchError:
    """Nothing is known under this id."""
    return DispatchError(
        f"no invocation {inv_id} on this plane: it was purged, or submitted to another one "
        "(compare LAKESHORE_HOME or the URL on both sides)"
    )


def no_success(inv_id: str, state: str, error: ErrorInfo | None) -> DispatchError:
    """It ended, and not well."""
    if state == "cancelled":
        return InvocationCancelledError(
            f"invocation {inv_id} was cancelled: submit it again if it is still wanted"
        )
    return InvocationFailedError(inv_id, error or ErrorInfo("Error", "no reason was recorded"))


def still_waiting(
    inv_id: str,
    timeout: float,
    row: Mapping[str, object],
    *,
    queue_state: str | None,
    workers: int,
    place: str,
) -> TimeoutError:
    """It has not ended in time.

    ``row``: the invocation's; ``queue_state``: None for an undeclared queue; ``workers``: how many of that queue
    were seen lately; ``place``: the variable that says which plane a worker works on.
    """
    state, queue = row["state"], row["queue"]
    waited = f"invocation {inv_id} still {state!r} after {timeout}s"
    if state != "queued":
        return TimeoutError(
            f"{waited}: ask again with a longer timeout, or see `lakeshore jobs show {inv_id}`"
        )
    if queue_state in ("paused", "archived"):
        return TimeoutError(
            f"{waited}: queue {queue!r} is {queue_state}, open it with `lakeshore queues unarchive {queue}`"
        )
    if workers:
        return TimeoutError(
            f"{waited}: its queue's workers ({workers}) are busy; ask again with a longer timeout"
        )
    return TimeoutError(
        f"{waited}: no worker is consuming queue {queue!r}; start one with `lakeshore worker start --queue {queue}`, "
        f"or, if one runs, give both the same {place}"
    )


def journal_gap(inv_id: str, missing: int) -> DispatchError:
    """The journal has ended without one of its frames."""
    return DispatchError(
        f"journal {inv_id} has ended and its frame {missing} never came: the frames before it are all there is; "
        "take the invocation's result instead, or submit it again"
    )


def journal_quiet(inv_id: str, since: int, timeout: float) -> TimeoutError:
    """Nothing was appended for too long."""
    # A topic's journal belongs to no job that could be shown.
    show = "" if inv_id.startswith("topic:") else f", or see `lakeshore jobs show {inv_id}`"
    return TimeoutError(
        f"journal {inv_id}: nothing came after frame {since} for {timeout}s; read on later with since={since}{show}"
    )


def no_such_queue(name: str) -> DispatchError:
    """The queue was neither declared nor submitted to."""
    return DispatchError(f"there is no queue {name!r}: declare it with `lakeshore queues add {name}`")


def stream_closed() -> DispatchError:
    """A stream of completions is used after its end."""
    return DispatchError("this stream of completions is closed: ask the plane for a new one")


def listener_closed() -> DispatchError:
    """A listener is used after its end."""
    return DispatchError("this listener is closed: ask the plane for a new one")
