"""Reading rows over HTTP: one, many, and the wait for a result."""

from __future__ import annotations

import heapq
import time
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.arguments import check_state
from dreamlake.lakeshore.dispatch.http import queues, workers
from dreamlake.lakeshore.dispatch.http.faults import NotFoundError
from dreamlake.lakeshore.dispatch.http.payloads import outcome_with_result
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S
from dreamlake.lakeshore.dispatch.http.states import row_of, wire_states
from dreamlake.lakeshore.dispatch.http.steps import Ask

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.http.steps import Steps


def get(inv_id: str) -> Steps[dict[str, object] | None]:
    """Give the row without envelope and result, or None. ``error`` is ``{type, message, traceback}`` or None."""
    try:
        found = yield Ask("producer/get", {"invocation_id": inv_id})
    except NotFoundError:
        return None
    return row_of(found["invocation"])


def listing(requests: Requests, queue: str | None, state: str | None, limit: int) -> list[dict[str, object]]:
    """List rows as ``get`` gives them, newest first."""
    if state is not None:
        check_state(state)
    if limit < 1:
        return []
    asked = {"queue": queue, "limit": str(limit)}
    lists = [
        [row_of(raw) for raw in _page(requests, {**asked, "state": name})]
        for name in (wire_states(state) if state is not None else (None,))
    ]
    return list(islice(heapq.merge(*lists, key=_submitted_at, reverse=True), limit))


def _page(requests: Requests, asked: dict[str, str | None]) -> list[dict[str, Any]]:
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    found: list[dict[str, Any]] = requests.get(f"producer/invocations?{query}")["invocations"]
    return found


def _submitted_at(row: dict[str, object]) -> float:
    at = row.get("submitted_at")
    return float(at) if isinstance(at, int | float) else 0.0


def result(inv_id: str, timeout: float) -> Steps[bytes | None]:
    """Wait for success and give the packed result, by long polls; None when it has not ended in time.

    Raises ``InvocationFailedError``, ``InvocationCancelledError``, or ``DispatchError`` for an
    unknown id.
    """
    ends = time.monotonic() + timeout
    while True:
        left = max(0.0, ends - time.monotonic())
        wait_s = min(left, LONG_POLL_S)
        asked = {"invocation_id": inv_id, "timeout_s": wait_s, "accept_result_ref": True}
        try:
            found = yield Ask("producer/await", asked, wait_s)
        except NotFoundError as exc:
            raise verdicts.unknown_invocation(inv_id) from exc
        if found["state"] != "pending":
            break
        if left <= 0:
            return None
    outcome = yield from outcome_with_result({"invocation_id": inv_id, **found})
    if outcome.state == "succeeded":
        return outcome.result or b""
    raise verdicts.no_success(inv_id, outcome.state, outcome.error)


def still_waiting(requests: Requests, inv_id: str, timeout: float) -> TimeoutError:
    """Give the error of a wait that ended before the invocation did, with what may be the reason."""
    row = requests.run(get(inv_id)) or {"state": "unknown", "queue": "?"}
    state, seen = None, 0
    if row["state"] == "queued":
        queue = str(row["queue"])
        record = queues.record(requests, queue)
        state = None if record is None else record.state
        now = queues.now(requests)
        seen = sum(
            now - known.last_seen_at < verdicts.WORKER_ALIVE_S for known in workers.listing(requests, queue)
        )
    return verdicts.still_waiting(
        inv_id, timeout, row, queue_state=state, workers=seen, place="LAKESHORE_URL and LAKESHORE_NAMESPACE"
    )
