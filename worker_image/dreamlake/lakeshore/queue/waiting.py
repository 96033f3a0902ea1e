"""Waiting for an invocation that only the waiting call knows: whoever stops waiting, cancels it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.context.run_context import active_context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dreamlake.lakeshore.dispatch.plane import Plane
    from dreamlake.lakeshore.queue.synchronous import SyncQueue

OWNED_LIMIT_S = 86_400.0
"""Seconds that a plain call waits: a day. Longer work is submitted, and its result asked for by id."""
_SLICE_S = 30.0

_log = logging.getLogger("dreamlake.lakeshore")


def wait_owned(queue: SyncQueue, inv_id: str, limit_s: float = OWNED_LIMIT_S) -> Any:
    """Wait for the result; an exception while waiting (Ctrl-C above all) cancels the invocation."""
    ends = time.monotonic() + limit_s
    try:
        while True:
            try:
                return queue.result(inv_id, timeout=min(_SLICE_S, max(0.0, ends - time.monotonic())))
            except TimeoutError:
                if time.monotonic() >= ends:
                    raise
                warn_if_unattended(queue.dispatch, queue.name, inv_id)
    except BaseException:
        queue.cancel(inv_id)  # changes nothing for one that has ended
        raise


def iterate_owned(queue: SyncQueue, inv_id: str, limit_s: float = OWNED_LIMIT_S) -> Iterator[Any]:
    """Yield the values as they come; leaving before the end cancels the invocation."""
    try:
        yield from queue.stream(inv_id, timeout=limit_s)
    except BaseException:
        queue.cancel(inv_id)
        raise


def warn_if_unattended(plane: Plane, queue: str, inv_id: str) -> None:
    """Say in the log, once per waiting slice, why an invocation may wait for ever.

    Nobody works on the queue; or the one who waits is a body that holds a worker of that queue itself.
    """
    context = active_context()
    row = plane.get(inv_id)
    if context is not None and context.invocation_id and row is not None and row["state"] == "queued":
        _log.warning(
            "invocation %s waits in queue %r for the body of %s to end, if that holds the queue's last worker: "
            "call other queues from a body, or run more workers than calls are nested",
            inv_id,
            queue,
            context.invocation_id,
        )
    elif not plane.workers(queue):
        _log.warning(
            "invocation %s waits in queue %r and no worker has registered there: "
            "start one with `lakeshore worker start --queue %s`",
            inv_id,
            queue,
            queue,
        )
