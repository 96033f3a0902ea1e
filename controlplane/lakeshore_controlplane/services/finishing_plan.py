"""What a report makes of a row: the change, the answer to a repeat, or the words for a fenced one. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgpack

from lakeshore_controlplane.documents import Invocation, InvocationState
from lakeshore_controlplane.services.attempt_ends import LEASE_FIELDS, MOST_CRASHES, poison_of
from lakeshore_controlplane.services.row_errors import error_to_row
from lakeshore_controlplane.services.submission import id_of
from lakeshore_controlplane.store.mongo.claims_port import Change

_DIGEST = 16
_SHOWN = {"killed": "cancelled", "timeout": "failed"}
"""States as the SDK's users know them."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of an attempt. ``attempt`` None: whichever it holds.

    ``retry``: queue it again after ``delay_s`` instead of ending it. ``crashed``: it took its worker process down.
    ``report_id``: when the client names its reports, only the same name is a repeat; else the same content is.
    """

    id: str
    attempt: int | None
    state: InvocationState
    result: bytes | None = None
    result_ref: str | None = None
    error: Mapping[str, object] | None = None
    retry: bool = False
    delay_s: float = 0.0
    crashed: bool = False
    report_id: str | None = None

    @property
    def needs_row(self) -> bool:
        """Whether the change depends on what the row says: how often it crashed, where it is queued again."""
        return (self.crashed or self.retry) and self.state != "succeeded"


class Accepted(NamedTuple):
    """The report counts: make the change; the row is in ``state`` then."""

    change: Change
    state: InvocationState
    error: Mapping[str, object] | None


class Repeated(NamedTuple):
    """The report was taken before, and this was its answer."""

    state: InvocationState


Fate: TypeAlias = Accepted | Repeated | None
"""None: fenced."""


def fate_of(report: Report, worker_id: str | None, row: Invocation | None, now: float) -> Fate:
    """Say what becomes of a report, by the row as it was read."""
    if row is None:
        return None
    if (
        row["state"] == "running"
        and worker_id in (None, row.get("workerId"))
        and report.attempt in (None, row["attempt"])
    ):
        return accept(report, worker_id, row["_id"], now, row=row)
    return repeat_of(report, worker_id, row)


def repeat_of(report: Report, worker_id: str | None, row: Invocation) -> Repeated | None:
    """Recognise the report that ended the row's last attempt."""
    last = bytes(row.get("lastReport", b""))
    if last[:_DIGEST] != digest_of(report, worker_id):
        return None
    state: InvocationState = last[_DIGEST:].decode()  # type: ignore[assignment]
    return Repeated(state)


def accept(
    report: Report, worker_id: str | None, key: str, now: float, *, row: Invocation | None = None
) -> Accepted:
    """Plan the change that a report asks for, guarded by its fence. ``row`` is needed where crashes count."""
    guard: dict[str, object] = {"state": "running"}
    if worker_id is not None:
        guard["workerId"] = worker_id
    if report.attempt is not None or row is not None:
        guard["attempt"] = report.attempt if row is None else row["attempt"]
    state, error, sets = _ending(report, now, 0 if row is None else row["crashes"])
    adds = {"crashes": 1} if report.crashed and report.state != "succeeded" else {}
    sets["lastReport"] = digest_of(report, worker_id) + state.encode()
    return Accepted(Change((key,), guard, sets, LEASE_FIELDS, adds, "lastReport"), state, error)


def _ending(
    report: Report, now: float, crashes: int
) -> tuple[InvocationState, Mapping[str, object] | None, dict[str, object]]:
    """Give the new state, its error, and the fields that say so."""
    if report.state == "succeeded":
        sets: dict[str, object] = {"state": "succeeded", "finishedAt": now, "error": None}
        sets["resultBlob"] = report.result
        if report.result_ref is not None:
            sets["resultRef"] = report.result_ref
        return "succeeded", None, sets
    error = report.error
    if report.crashed and crashes + 1 >= MOST_CRASHES:
        error = poison_of(crashes + 1, error or {"type": "Error", "message": "no reason was given"})
        return "failed", error, _ended("failed", error, now)
    if not report.retry:
        return report.state, error, _ended(report.state, error, now)
    sets = {"state": "queued", "error": error_to_row(error), "workerId": None}
    if report.delay_s > 0:
        sets["dueAt"] = now + report.delay_s
    return "queued", error, sets


def _ended(state: str, error: Mapping[str, object] | None, now: float) -> dict[str, object]:
    return {"state": state, "error": error_to_row(error), "finishedAt": now}


def digest_of(report: Report, worker_id: str | None) -> bytes:
    """Hash a report without the name of its row, so that many equal ones are one update."""
    said: list[object] = [worker_id, report.attempt, report.report_id]
    if report.report_id is None:
        said += [report.state, report.result, report.result_ref, report.retry, report.delay_s, report.crashed]
        said += [None if report.error is None else sorted((k, str(v)) for k, v in report.error.items())]
    packed: bytes = msgpack.packb(said, unicode_errors="surrogatepass")
    return hashlib.sha256(packed).digest()[:_DIGEST]


def fenced_text(inv_id: str, worker_id: str | None, row: Invocation | None) -> str:
    """Say why a worker's word on an invocation no longer counts."""
    if row is None:
        now = "is not on this plane"
    elif row["state"] == "running":
        now = f"is running as attempt {row['attempt']} on {row.get('workerId')}"
    else:
        now = f"is {_SHOWN.get(row['state'], row['state'])}"
    who = "this worker" if worker_id is None else f"worker {worker_id}"
    shown = inv_id if row is None else id_of(row)
    return f"{who} no longer holds invocation {shown}, which {now}: nothing was changed; drop this attempt's outcome"
