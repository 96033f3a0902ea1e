"""How attempts and invocations end without a report: the changes of their rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.services.row_errors import error_to_row
from lakeshore_controlplane.store.mongo.claims_port import Change

MOST_CRASHES = 3
"""Attempts that may take their worker down before the invocation ends as poison."""

LEASE_FIELDS = ("leaseUntil",)

_OWN = ("resultBlob", "lastReport")
_OWN_BYTES = 32 << 10
"""Bytes of a result that share an update with others': one update is one document of at most 16 MiB."""
_TOGETHER = 100
"""Rows of such an update: each looks for its place among all of them."""


def expiry_of(row: Invocation, now: float, stamp: str) -> Change:
    """Plan what becomes of a row whose lease ran out: queued again, or poison. Guarded by the lease as it was read."""
    worker, until = row.get("workerId"), row.get("leaseUntil")
    lost = {
        "type": "WorkerLost",
        "message": f"worker {worker} stopped renewing its lease during attempt {row['attempt']}: "
        "it was killed, ran out of memory, or was frozen",
    }
    guard = {
        "state": "running",
        "workerId": worker,
        "attempt": row["attempt"],
        "crashes": row["crashes"],
        "leaseUntil": until,
    }
    sets: dict[str, object] = {"crashes": row["crashes"] + 1, "claimId": stamp}
    if row["crashes"] + 1 >= MOST_CRASHES:
        error = error_to_row(poison_of(row["crashes"] + 1, lost))
        sets |= {"state": "failed", "error": error, "finishedAt": now}
    else:
        # It waits since its lease ended, whenever that is noticed.
        sets |= {"state": "queued", "error": error_to_row(lost), "dueAt": until, "workerId": None}
    return Change((row["_id"],), guard, sets, LEASE_FIELDS)


def overdue_of(row: Invocation, now: float, stamp: str) -> Change:
    """Plan the end of a queued row whose deadline is over."""
    sets = {
        "state": "timeout",
        "error": {"type": "DeadlineExceeded", "message": "its deadline passed before it could start"},
        "finishedAt": now,
        "claimId": stamp,
    }
    return Change((row["_id"],), {"state": "queued"}, sets, LEASE_FIELDS)


def cancel_of(keys: tuple[str, ...], now: float, stamp: str) -> Change:
    """Plan that rows are cancelled which have not ended."""
    sets = {"state": "killed", "error": None, "finishedAt": now, "claimId": stamp}
    return Change(keys, {"state": ("queued", "running")}, sets, LEASE_FIELDS)


def release_of(row: Invocation, stamp: str, due_at: float | None = None) -> Change:
    """Plan that a claim is handed back as if it had never been; ``due_at``: not to be claimed before."""
    guard = {
        "state": "running",
        "workerId": row.get("workerId"),
        "attempt": row["attempt"],
        "claimId": row.get("claimId"),
    }
    sets: dict[str, object] = {"state": "queued", "workerId": None, "claimId": stamp}
    if due_at is not None:
        sets["dueAt"] = due_at
    return Change((row["_id"],), guard, sets, ("leaseUntil", "startedAt"), {"attempt": -1})


def poison_of(crashes: int, last: Mapping[str, object]) -> dict[str, object]:
    """Give the error of an invocation that took its workers down too often; ``last`` is the latest reason."""
    found: dict[str, object] = {
        "type": "PoisonJob",
        "message": f"it took its worker down {crashes} times and is not tried again; "
        f"the last time: {last.get('type')}: {last.get('message')}",
    }
    if last.get("traceback") is not None:
        found["traceback"] = last["traceback"]
    return found


def grouped(changes: Sequence[Change]) -> list[Change]:
    """Make one of changes that differ in their rows only: the many rows of one lost worker are one update."""
    found: dict[object, Change] = {}
    for change in changes:
        alike = (_hashable(change.guard), _hashable(change.sets), change.unsets, _hashable(change.adds))
        had = found.get(alike)
        found[alike] = change if had is None else replace(had, keys=had.keys + change.keys)
    return list(found.values())


def gathered(changes: Sequence[Change]) -> list[Change]:
    """Make few of the ends of many attempts: those that differ in rows, results and digests alone go together."""
    together: dict[object, list[Change]] = {}
    for change in changes:
        common: list[object] = []
        own = 0
        for name, value in change.sets.items():
            if name not in _OWN:
                common += (name, repr(value) if type(value) is dict else value)
            elif type(value) is bytes:
                own += len(value)
        alike: object = (*change.guard.values(), *common)
        if own > _OWN_BYTES or change.adds:
            alike = change.keys
        together.setdefault(alike, []).append(change)
    return [
        _as_one(some[start : start + _TOGETHER])
        for some in together.values()
        for start in range(0, len(some), _TOGETHER)
    ]


def _as_one(changes: Sequence[Change]) -> Change:
    """Join changes of one row each that set the same fields."""
    first = changes[0]
    if len(changes) == 1:
        return first
    values = {name: tuple(change.sets[name] for change in changes) for name in _OWN if name in first.sets}
    each = {name: of_rows for name, of_rows in values.items() if of_rows.count(of_rows[0]) < len(of_rows)}
    sets = {name: value for name, value in first.sets.items() if name not in each}
    return replace(first, keys=tuple(change.keys[0] for change in changes), sets=sets, each=each)


def _hashable(values: Mapping[str, object]) -> object:
    return tuple((k, repr(v) if isinstance(v, dict) else v) for k, v in values.items())
