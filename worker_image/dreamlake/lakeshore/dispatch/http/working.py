"""The worker's verbs over HTTP: claims, renewals, reports."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch.arguments import check_claim
from dreamlake.lakeshore.dispatch.http.attempts import LostAnswerError
from dreamlake.lakeshore.dispatch.http.payloads import ALONG, fetching
from dreamlake.lakeshore.dispatch.http.steps import Ask, Bring
from dreamlake.lakeshore.dispatch.plane import Backoff, Claimed
from dreamlake.lakeshore.errors import DispatchError, ErrorInfo, FencedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dreamlake.lakeshore.dispatch.http.drains import DrainOrders
    from dreamlake.lakeshore.dispatch.http.steps import Steps
    from dreamlake.lakeshore.dispatch.plane import Finished

BATCH = 1000
"""Claims, reports or renewals in one request."""
_BATCH_BYTES = 4 << 20
_TYPE_CHARS = 1000
_MESSAGE_CHARS = 1_000_000


def claim_many(
    orders: DrainOrders,
    queue: str,
    worker_id: str,
    n: int,
    *,
    kind: str,
    temperature: float,
    lease_s: float,
) -> Steps[list[Claimed]]:
    """Lease up to ``n`` invocations in the order of ``kind``, at most 1,000 a request."""
    check_claim(queue, worker_id, kind, temperature, lease_s)
    asked = {
        "worker_id": worker_id,
        "queue": queue,
        "timeout_s": 0.0,
        "lease_s": float(lease_s),
        "kind": kind,
        "temperature": float(temperature),
    }
    claimed: list[Claimed] = []
    while len(claimed) < n:
        most = min(BATCH, n - len(claimed))
        try:
            found = yield from _poll({**asked, "max": most, "claim_id": new_id()})
            orders.note(worker_id, found)
            runs = yield from runs_of(worker_id, found, most)
            claimed += yield from claims_of(worker_id, queue, runs)
        except DispatchError:
            if not claimed:
                raise
            break
        if len(runs) < most:
            break
    return claimed


def _poll(asked: Mapping[str, object]) -> Steps[Any]:
    """Send a poll; once its answer is lost, ask for what that answer held."""
    try:
        return (yield Ask("daemon/poll", asked, repeat="unless_lost"))
    except LostAnswerError:
        return (yield Ask("daemon/poll", {**asked, "again": True}))


def runs_of(worker_id: str, found: Mapping[str, Any], most: int) -> Steps[list[Mapping[str, Any]]]:
    """Give what a poll brought to run; what is too much (it was asked for at two replicas) is handed back."""
    bodies = [command["body"] for command in found["commands"] if command["kind"] == "run"]
    if len(bodies) > most:
        yield from release([str(body["invocation_id"]) for body in bodies[most:]], worker_id)
    return bodies[:most]


def claims_of(worker_id: str, queue: str, bodies: Sequence[Mapping[str, Any]]) -> Steps[list[Claimed]]:
    """Make claims of what a poll brought, their arguments fetched; all are handed back when one cannot be had."""
    try:
        claims = []
        for body in bodies:
            blob = body.get("args_blob")
            envelope = bytes(blob) if blob is not None else (yield from fetching(body.get("args_ref")))
            claims.append(_claimed(queue, body, envelope))
    except DispatchError:
        yield from release([str(body["invocation_id"]) for body in bodies], worker_id)
        raise
    return claims


def _claimed(queue: str, body: Mapping[str, Any], envelope: bytes) -> Claimed:
    config: Mapping[str, Any] = body.get("run_config") or {}
    backoff = config.get("backoff")
    return Claimed(
        id=body["invocation_id"],
        envelope=envelope,
        attempt=int(body["attempt"]),
        queue=body.get("queue") or queue,
        timeout_s=config.get("timeout_s"),
        retries=config.get("retries"),
        backoff=None if not backoff else Backoff(float(backoff["base_s"]), float(backoff["cap_s"])),
        crashes=int(body.get("crashes") or 0),
    )


def renew(orders: DrainOrders, ids: Iterable[str], worker_id: str, lease_s: float) -> Steps[set[str]]:
    """Extend the leases still held; the ids of those that are not."""
    lost: set[str] = set()
    for chunk in _chunks(list(dict.fromkeys(ids))):
        asked = {"worker_id": worker_id, "ids": chunk, "lease_s": float(lease_s)}
        found = yield Ask("daemon/renew", asked)
        orders.note(worker_id, found)
        lost.update(found["lost"])
    return lost


def release(ids: Iterable[str], worker_id: str) -> Steps[int]:
    """Hand back claims that were never started; how many were still this worker's."""
    count = 0
    for chunk in _chunks(list(dict.fromkeys(ids))):
        found = yield Ask("daemon/release", {"worker_id": worker_id, "ids": chunk})
        count += int(found["released"])
    return count


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def finish(worker_id: str, attempt: int | None, item: Finished) -> Steps[None]:
    """Report one attempt, of whatever number when ``attempt`` is None. Raises ``FencedError``."""
    report = yield from report_of(item, attempt)
    yield Ask("daemon/ack", {**report, "worker_id": worker_id, "report_id": new_id()})


def ack_many(worker_id: str, items: Sequence[Finished]) -> Steps[set[str]]:
    """Report attempts, up to 1,000 or 4 MiB a request; the ids that were fenced."""
    fenced: set[str] = set()
    for batch in _batches(items):
        report_id = new_id()
        reports = []
        for item in batch:
            report = yield from report_of(item, item.attempt)
            reports.append(report | {"report_id": report_id})
        if len(reports) == 1:
            fenced.update((yield from _ack_one(worker_id, reports[0])))
        else:
            found = yield Ask("daemon/ack-many", {"worker_id": worker_id, "items": reports})
            fenced.update(found["fenced"])
    return fenced


def new_id() -> str:
    """Name a call's claim or reports: the request that is sent again has the same name, a new call has not."""
    return os.urandom(8).hex()


def _ack_one(worker_id: str, report: dict[str, Any]) -> Steps[list[str]]:
    try:
        yield Ask("daemon/ack", {**report, "worker_id": worker_id})
    except FencedError:
        return [report["invocation_id"]]
    return []


def _batches(items: Sequence[Finished]) -> Iterator[list[Finished]]:
    batch: list[Finished] = []
    size = 0
    for item in items:
        more = len(item.result or b"")
        more = 0 if more > ALONG else more
        if batch and (len(batch) == BATCH or size + more > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch


def report_of(item: Finished, attempt: int | None) -> Steps[dict[str, Any]]:
    """Spell a report; a large result is uploaded first."""
    """Spell a report; a result that is too large to go along is uploaded."""
    report: dict[str, Any] = {"invocation_id": item.id}
    if attempt is not None:
        report["attempt"] = attempt
    if item.error is not None:
        report.update(state="failed", error=_clipped(item.error).to_dict(), retry=item.retry)
        if item.delay_s > 0:
            report["delay_s"] = float(item.delay_s)
        if item.crashed:
            report["crashed"] = True
        return report
    report["state"] = "succeeded"
    if item.result is not None and len(item.result) > ALONG:
        report["result_ref"] = yield Bring(item.result)
    else:
        report["result_blob"] = item.result
    return report


def _clipped(error: ErrorInfo) -> ErrorInfo:
    """Leave out what no server takes: the end of the longest messages, the beginning of the longest tracebacks."""
    trace = error.traceback
    return ErrorInfo(
        error.type[:_TYPE_CHARS],
        error.message[:_MESSAGE_CHARS],
        None if trace is None else trace[-_MESSAGE_CHARS:],
    )


def error_of(given: ErrorInfo | dict[str, str] | str) -> ErrorInfo:
    """Take an error in any of the forms that ``nack`` takes."""
    return given if isinstance(given, ErrorInfo) else ErrorInfo.from_dict(given)
