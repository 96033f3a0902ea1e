"""Reading rows: one, many, and the wait for a result."""

# ruff: noqa: S608 - statements are put together from this module's own constants
from __future__ import annotations

import time
from typing import Any

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.arguments import check_state
from dreamlake.lakeshore.dispatch.sqlite.completions import RECHECK_S
from dreamlake.lakeshore.dispatch.sqlite.finishing import decode_error
from dreamlake.lakeshore.dispatch.sqlite.store import Store

_FIELDS = (
    "id",
    "queue",
    "state",
    "priority",
    "attempt",
    "crashes",
    "key",
    "parent",
    "worker",
    "lease_until",
    "due",
    "deadline",
    "submitted_at",
    "queued_at",
    "started_at",
    "finished_at",
    "timeout_s",
    "retries",
    "error",
)
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM invocation"


def get(store: Store, inv_id: str) -> dict[str, object] | None:
    """Give the row without envelope and result, or None. ``error`` is ``{type, message, traceback}`` or None."""
    rows = store.rows(f"{_SELECT} WHERE ns = ? AND id = ?", (store.ns, inv_id))
    return _row(rows[0]) if rows else None


def listing(store: Store, queue: str | None, state: str | None, limit: int) -> list[dict[str, object]]:
    """List rows as ``get`` gives them, newest first."""
    if state is not None:
        check_state(state)
    rows = store.rows(
        # The pluses keep SQLite on the order of submission: the limit is small, sorting all would not be.
        f"{_SELECT} WHERE +ns = ?1 AND (?2 IS NULL OR +queue = ?2) AND (?3 IS NULL OR +state = ?3)"
        " ORDER BY seq DESC LIMIT ?4",
        (store.ns, queue, state, max(0, limit)),
    )
    return [_row(row) for row in rows]


def _row(values: tuple[Any, ...]) -> dict[str, object]:
    row: dict[str, object] = dict(zip(_FIELDS, values, strict=True))
    error = decode_error(values[-1])
    row["error"] = None if error is None else error.to_dict()
    return row


def result(store: Store, inv_id: str, timeout: float) -> bytes:
    """Wait for success and give the packed result.

    Raises ``TimeoutError``, ``InvocationFailedError``, ``InvocationCancelledError``, or ``DispatchError`` for an
    unknown id.
    """
    ends = time.monotonic() + timeout
    with store.listening_for_ends() as listener:
        while True:
            # Look after subscribing, so that an end in between is not missed.
            found = _ended(store, inv_id)
            left = ends - time.monotonic()
            if found is not None or left <= 0:
                return _result_of(found, store, inv_id, timeout)
            listener.wait(min(left, RECHECK_S))


def _ended(store: Store, inv_id: str) -> tuple[str, bytes | None, str | None] | None:
    rows = store.rows(
        "SELECT state, finish_seq IS NULL, result, error FROM invocation WHERE ns = ? AND id = ?",
        (store.ns, inv_id),
    )
    if not rows:
        raise verdicts.unknown_invocation(inv_id)
    state, waits, value, error = rows[0]
    return None if waits else (state, value, error)


def _result_of(
    found: tuple[str, bytes | None, str | None] | None, store: Store, inv_id: str, timeout: float
) -> bytes:
    if found is None:
        raise _still_waiting(store, inv_id, timeout)
    state, value, error = found
    if state == "succeeded":
        return b"" if value is None else value
    raise verdicts.no_success(inv_id, state, decode_error(error))


def _still_waiting(store: Store, inv_id: str, timeout: float) -> TimeoutError:
    row = get(store, inv_id) or {"state": "unknown", "queue": "?"}
    record = store.rows("SELECT state FROM queue WHERE ns = ? AND name = ?", (store.ns, row["queue"]))
    # A worker that was killed leaves its record behind: only those seen lately are there.
    seen = store.rows(
        "SELECT count(*) FROM worker WHERE ns = ? AND queue = ? AND last_seen_at > ?",
        (store.ns, row["queue"], store.now() - verdicts.WORKER_ALIVE_S),
    )[0][0]
    state = record[0][0] if record else None
    return verdicts.still_waiting(
        inv_id, timeout, row, queue_state=state, workers=seen, place="LAKESHORE_HOME"
    )
