"""Queues over HTTP: declared, moved through their lifecycle, counted, measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch.arguments import check_declaration, check_queue_state, check_state
from dreamlake.lakeshore.dispatch.http.faults import NotFoundError
from dreamlake.lakeshore.dispatch.http.requests import segment
from dreamlake.lakeshore.dispatch.http.states import wire_states
from dreamlake.lakeshore.dispatch.http.steps import Ask
from dreamlake.lakeshore.dispatch.names import check_queue
from dreamlake.lakeshore.dispatch.plane import QueueRecord, QueueSignals
from dreamlake.lakeshore.dispatch.verdicts import no_such_queue

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.http.steps import Steps


def count(queue: str, state: str) -> Steps[int]:
    """Count the rows of a queue in one state."""
    check_queue(queue)
    check_state(state)
    total = 0
    for name in wire_states(state):
        found = yield Ask("producer/count", {"queue": queue, "state": name})
        total += int(found["count"])
    return total


def declare(requests: Requests, record: QueueRecord) -> None:
    """Create the queue or change its kind; an existing one keeps its lifecycle state."""
    check_declaration(record)
    heated = record.kind == "boltzmann" or record.temperature != 1.0
    is_new = record.state != "active" and _find(requests, record.name) is None
    requests.put(
        f"producer/queues/{segment(record.name)}",
        {"kind": record.kind, "kind_params": {"temperature": float(record.temperature)} if heated else {}},
    )
    if is_new:
        set_state(requests, record.name, record.state)


def set_state(requests: Requests, name: str, state: str) -> None:
    """Move a queue through its lifecycle. Raises ``DispatchError`` when there is no such queue."""
    check_queue(name)
    check_queue_state(state)
    try:
        requests.post(f"producer/queues/{segment(name)}/state", {"state": state})
    except NotFoundError as exc:
        raise no_such_queue(name) from exc


def record(requests: Requests, name: str) -> QueueRecord | None:
    """Give the declared queue, or None."""
    check_queue(name)
    found = _find(requests, name)
    return _record(found) if found is not None and found.get("declared", True) else None


def _find(requests: Requests, name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = requests.get(f"producer/queues/{segment(name)}")["queue"]
    except NotFoundError:
        return None
    return found


def listing(requests: Requests) -> list[QueueRecord]:
    """List declared queues and those that have rows, by name."""
    found = [_record(raw) for raw in requests.get("producer/queues")["queues"]]
    return sorted(found, key=lambda known: known.name)


def _record(raw: dict[str, Any]) -> QueueRecord:
    params = raw.get("kind_params") or {}
    return QueueRecord(raw["name"], raw["kind"], raw["state"], float(params.get("temperature", 1.0)))


def signals(requests: Requests, queue: str) -> QueueSignals:
    """Give one consistent snapshot of a queue."""
    check_queue(queue)
    raw = requests.get(f"producer/queues/{segment(queue)}/signals")
    return QueueSignals(**{name: raw[name] for name in QueueSignals.__slots__})


def next_due(queue: str) -> Steps[float | None]:
    """Seconds until a delayed row, a deadline or an expiring lease wants a claim; None while there is none."""
    check_queue(queue)
    found = yield Ask(f"daemon/queues/{segment(queue)}/next-due")
    seconds = found["seconds"]
    return None if seconds is None else float(seconds)


def now(requests: Requests) -> float:
    """Seconds on the control plane's clock."""
    return float(requests.get("producer/clock")["now"])
