"""From a submission to the row that is stored: pure, and the same on every replica."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import NamedTuple

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import BadRequest


class Submission(NamedTuple):
    """What a client wants done, as its request says it: ``args`` inline, or ``args_ref`` naming an uploaded payload.

    ``run_config``: see ``row_of``; fields that nobody knows are kept on the row. ``written_at``: Unix time by the clock
    that the deadline was read from, which may be an hour off; None: the server's own.
    """

    id: str
    queue: str
    args: bytes | None = None
    args_ref: str | None = None
    run_config: Mapping[str, object] = {}
    code_context: dict[str, object] | None = None
    function: dict[str, object] | None = None
    parent: str | None = None
    correlation_id: str | None = None
    code_repo_id: str | None = None
    written_at: float | None = None


class Submitted(NamedTuple):
    """The invocation that does the work (an earlier one where the key was known). ``duplicate``: nothing is new."""

    id: str
    queue: str
    duplicate: bool = False


class Moment(NamedTuple):
    """When a row is made: plane time, Unix time (which deadlines are written in), and its place among all rows."""

    now: float
    wall: float
    order: int


def row_of(
    namespace: str, submission: Submission, moment: Moment, *, root: str, priority_field: str | None = None
) -> Invocation:
    """Plan the row of a new invocation.

    Of ``run_config``: ``priority`` (or the field that the queue's ``priority_field`` names) orders claims, ``key``
    makes the submission the only one of its queue, ``delay_s`` puts off its start, ``deadline`` (Unix time) ends it
    unless it has started before. ``root``: the first invocation of the tree that this one belongs to.
    Raises ``BadRequest`` for numbers that are none and for arguments that are missing.
    """
    config = {**submission.run_config, "queue": submission.queue}
    delay_s = _number(config, "delay_s") or 0.0
    deadline = _number(config, "deadline")
    _number(config, "timeout_s")
    row: Invocation = {
        "_id": f"{namespace}/{submission.id}",
        "namespaceId": namespace,
        "state": "queued",
        "runConfig": config,
        "priority": _priority(config.get(priority_field or "priority")),
        "order": moment.order,
        "attempt": 0,
        "crashes": 0,
        "submittedAt": moment.now,
        "dueAt": moment.now + max(0.0, delay_s),
        "argsHash": _digest(submission),
        "rootInvocationId": root,
    }
    if deadline is not None:
        wall = moment.wall if submission.written_at is None else submission.written_at
        row["deadlineAt"] = moment.now + (deadline - wall)
    _add_given(row, submission, config.get("key"))
    return row


def id_of(row: Invocation) -> str:
    """Give the row's id as clients know it, without its namespace."""
    return row["_id"].partition("/")[2]


def queue_of(row: Invocation) -> str:
    """Give the name of the row's queue."""
    return str(row["runConfig"]["queue"])


def _add_given(row: Invocation, submission: Submission, key: object) -> None:
    if submission.args is not None:
        row["argsBlob"] = submission.args
    elif submission.args_ref is not None:
        row["argsRef"] = submission.args_ref
    if key is not None:
        row["idempotencyKey"] = str(key)
    if submission.parent is not None:
        row["parentInvocationId"] = submission.parent
    if submission.correlation_id is not None:
        row["correlationId"] = submission.correlation_id
    if submission.code_repo_id is not None:
        row["codeRepoId"] = submission.code_repo_id
    if submission.code_context:
        row["codeContext"] = submission.code_context
    if submission.function:
        row["function"] = submission.function


def _digest(submission: Submission) -> bytes:
    """Hash what makes two submissions of one id the same work: the queue and the arguments."""
    if submission.args is not None:
        given = b"inline\0" + submission.args
    elif submission.args_ref is not None:
        # Its last part is a name: another upload of the same bytes has another.
        given = b"ref\0" + submission.args_ref.rpartition(".")[0].encode()
    else:
        raise BadRequest(f"invocation {submission.id} has no arguments: give args_blob or args_ref")
    return hashlib.sha256(submission.queue.encode() + b"\0" + given).digest()


def _priority(value: object) -> float:
    """Read a priority; odd ones of other clients count as 0, as they always did."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _number(config: Mapping[str, object], name: str) -> float | None:
    value = config.get(name)
    if value is None:
        return None
    if not isinstance(value, bool) and isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    shown = repr(value)
    raise BadRequest(f"{name} {shown if len(shown) <= 80 else shown[:80] + '...'}: use a finite number")
