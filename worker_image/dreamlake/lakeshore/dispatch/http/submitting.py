"""Submitting over HTTP, checked here, then stored there, and cancelling: up to a thousand at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch.arguments import check_config
from dreamlake.lakeshore.dispatch.http.payloads import ALONG
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S
from dreamlake.lakeshore.dispatch.http.steps import Ask, Bring
from dreamlake.lakeshore.dispatch.names import check_invocation, check_queue
from dreamlake.lakeshore.dispatch.plane import RunConfig
from dreamlake.lakeshore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dreamlake.lakeshore.dispatch.http.steps import Steps
    from dreamlake.lakeshore.dispatch.plane import Submission

BATCH = 1000
"""Invocations that one request stores, all or none."""
_BATCH_BYTES = 48 << 20
_PLAIN = RunConfig()
wall = time.time


def submit_many(queue: str, items: Sequence[Submission], timeout_s: float) -> Steps[list[str]]:
    """Store them in order; the ids, an earlier one's where a key was known.

    All or none as long as one request holds them (1,000 items, 48 MiB). More are stored request by request: an
    error then leaves those of the earlier requests stored, and the same call again stores the rest. Arguments that
    are too large for a request are uploaded first. ``timeout_s``: how long to wait for room.
    """
    check_queue(queue)
    bodies = [_body(queue, item) for item in items]
    for item, body in zip(items, bodies, strict=True):
        if len(item.envelope) > ALONG:
            del body["args_blob"]
            body["args_ref"] = yield Bring(item.envelope)
    wait_s = min(timeout_s, LONG_POLL_S)  # for room, where the queue lets its submitters wait
    ids: list[str] = []
    for batch in _batches(bodies):
        if len(batch) == 1:
            results = [(yield Ask("producer/submit", {**batch[0], "wait_s": wait_s}, wait_s, holds=False))]
        else:
            body = {"items": batch, "atomic": True, "wait_s": wait_s}
            results = (yield Ask("producer/submit-many", body, wait_s, holds=False))["results"]
        ids += [str(found["invocation_id"]) for found in results]
    return ids


def cancel(ids: Iterable[str]) -> Steps[set[str]]:
    """End queued or running invocations; the ids of those that this ended."""
    wanted = list(dict.fromkeys(ids))
    ended: set[str] = set()
    for start in range(0, len(wanted), BATCH):
        found = yield Ask("producer/cancel", {"ids": wanted[start : start + BATCH]})
        ended.update(found["cancelled"])
    return ended


def _batches(bodies: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for body in bodies:
        more = len(body.get("args_blob", b""))
        if batch and (len(batch) == BATCH or size + more > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += more
    if batch:
        yield batch


def _body(queue: str, item: Submission) -> dict[str, Any]:
    check_invocation(item.id)
    body: dict[str, Any] = {"invocation_id": item.id, "queue": queue, "args_blob": item.envelope}
    if item.parent is not None:
        body["parent_invocation_id"] = item.parent
    if item.config is not _PLAIN and item.config != _PLAIN:
        check_config(item.config)
        body["run_config"] = _run_config(item.config)
        if item.config.deadline is not None:
            body["written_at"] = wall()  # the clock that the deadline was read from may be off: send both
    return body


def _run_config(config: RunConfig) -> dict[str, Any]:
    """Spell what was asked for; what was not is left out."""
    backoff = config.backoff
    try:
        fields = {
            "priority": float(config.priority),
            "key": config.key,
            "retries": None if config.retries is None else int(config.retries),
            "timeout_s": None if config.timeout_s is None else float(config.timeout_s),
            "deadline": None if config.deadline is None else float(config.deadline),
            "delay_s": float(config.delay_s) if config.delay_s > 0 else None,
            "backoff": None if backoff is None else {"base_s": backoff.base_s, "cap_s": backoff.cap_s},
        }
    except (TypeError, ValueError, OverflowError) as exc:
        raise ConfigError(f"a number of {config} is none: {exc}") from exc
    return {name: value for name, value in fields.items() if value is not None}
