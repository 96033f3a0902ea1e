"""Looking up invocations: one, many, a tree, a count."""

from __future__ import annotations

from typing import TypeAlias

from lakeshore_controlplane.documents import INVOCATION_STATES, Invocation
from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.services.row_errors import error_from_row
from lakeshore_controlplane.services.submission import id_of, queue_of
from lakeshore_controlplane.store.mongo.invocations import InvocationRows, RowFilter

ShownRow: TypeAlias = dict[str, object]
ShownRows: TypeAlias = list[ShownRow]

_MOST_ROWS = 1000


class Lookups:
    """Rows as the HTTP contract shows them: without arguments and results, and never another namespace's."""

    def __init__(self, *, rows: InvocationRows) -> None:
        self._rows = rows

    async def get(self, namespace: str, inv_id: str) -> ShownRow | None:
        """Give a row, or None."""
        row = await self._rows.get(namespace, inv_id)
        return None if row is None else shown(row)

    async def list(
        self,
        namespace: str,
        *,
        queue: str | None = None,
        state: str | None = None,
        root: str | None = None,
        limit: int = 50,
    ) -> ShownRows:
        """Give up to ``limit`` (at most 1,000) rows, newest first. Raises ``BadRequest`` for an unknown state."""
        _check_state(state)
        if limit < 1:
            return []
        wanted = RowFilter(queue, state, root)
        return [shown(row) for row in await self._rows.find(namespace, wanted, min(limit, _MOST_ROWS))]

    async def tree(self, namespace: str, root: str, *, limit: int = _MOST_ROWS) -> ShownRows:
        """Give the rows of a pipeline as they were submitted, from its root on."""
        if limit < 1:
            return []
        wanted = RowFilter(root=root)
        found = await self._rows.find(namespace, wanted, min(limit, _MOST_ROWS), newest_first=False)
        return [shown(row) for row in found]

    async def count(self, namespace: str, queue: str, state: str = "queued") -> int:
        """Count the rows of a queue in one state; delayed ones are queued. Raises ``BadRequest``."""
        _check_state(state)
        return await self._rows.count(namespace, RowFilter(queue, state))


def shown(row: Invocation) -> ShownRow:
    """Give the contract's form of a row. Times are plane time; ``due`` is None for a row that was never put off."""
    config = row["runConfig"]
    return {
        "id": id_of(row),
        "queue": queue_of(row),
        "state": row["state"],
        "priority": row["priority"],
        "key": row.get("idempotencyKey"),
        "parent": row.get("parentInvocationId"),
        "root": row["rootInvocationId"],
        "correlation_id": row.get("correlationId"),
        "attempt": row["attempt"],
        "crashes": row["crashes"],
        "worker": row.get("workerId"),
        "error": error_from_row(row.get("error")),
        "submitted_at": row["submittedAt"],
        "queued_at": row["submittedAt"],
        "started_at": row.get("startedAt"),
        "finished_at": row.get("finishedAt"),
        "due": row["dueAt"] if row["dueAt"] > row["submittedAt"] else None,
        "due_at": row["dueAt"],
        "lease_until": row.get("leaseUntil"),
        "deadline": row.get("deadlineAt"),
        "timeout_s": config.get("timeout_s"),
        "retries": config.get("retries"),
        "code_repo": row.get("codeRepoId"),
        "function": row.get("function"),
    }


def _check_state(state: str | None) -> None:
    if state is not None and state not in INVOCATION_STATES:
        shown_state = state if len(state) <= 40 else state[:40] + "..."
        raise BadRequest(f"state {shown_state!r}: use one of {', '.join(INVOCATION_STATES)}")
