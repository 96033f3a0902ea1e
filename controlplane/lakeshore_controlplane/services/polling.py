"""A worker's poll: ends come in, then an order to drain or a claim goes out, waiting for work when asked to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import NotFound, StoreUnavailable
from lakeshore_controlplane.services.claiming import Claiming
from lakeshore_controlplane.services.finishing import Finishing, Report
from lakeshore_controlplane.services.first_ring import first_ring
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.submission import id_of
from lakeshore_controlplane.services.topics import work_topic
from lakeshore_controlplane.services.workers import Workers, worker_topic
from lakeshore_controlplane.store.bells.port import Bells, Subscription
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.workers import WorkerKey

_LOOK_AGAIN_S = 5.0
_LOOK_AGAIN_DEGRADED_S = 0.5
_SHORTEST_S = 0.005
_ARGS_AGAIN_S = 3.0
"""Seconds until a row whose arguments cannot be had now is claimed again: others run meanwhile."""


@dataclass(frozen=True, slots=True)
class PollRequest:
    """What a worker asks for: up to ``most`` claims of ``queues``, waiting up to ``timeout_s`` for the first."""

    worker_id: str
    queues: Sequence[str]
    timeout_s: float = 0.0
    most: int = 1
    lease_s: float | None = None
    kind: str | None = None
    temperature: float | None = None
    reports: list[Report] = field(default_factory=list)


class PollAnswer(NamedTuple):
    """Commands for the worker, its reports that were fenced, and when the queue wants another look."""

    commands: list[dict[str, Any]]
    fenced: list[str]
    next_due_s: float | None


class Polling:
    """Answers polls."""

    def __init__(
        self,
        *,
        claiming: Claiming,
        finishing: Finishing,
        leasing: Leasing,
        workers: Workers,
        payloads: Payloads,
        bells: Bells,
        stopping: Any,
    ) -> None:
        """``stopping()`` says whether this replica is going away."""
        self._claiming = claiming
        self._finishing = finishing
        self._leasing = leasing
        self._workers = workers
        self._payloads = payloads
        self._bells = bells
        self._stopping = stopping

    async def poll(self, namespace: str, request: PollRequest) -> PollAnswer:
        """Take the reports, then give a drain order or claims."""
        fenced: list[str] = []
        if request.reports:
            fenced = await self._finishing.report(namespace, request.worker_id, request.reports)
        if request.most == 0:
            return PollAnswer([], fenced, None)
        orders = await self._workers.at_poll(namespace, request.worker_id)
        if orders.drain:
            return PollAnswer([hibernate(request.worker_id)], fenced, None)
        if orders.cordoned:
            return PollAnswer([], fenced, None)
        rows, due = await self._take(namespace, request)
        return PollAnswer(await self._commands(namespace, request.worker_id, rows), fenced, due)

    async def _take(self, namespace: str, request: PollRequest) -> tuple[list[Invocation], float | None]:
        if request.timeout_s <= 0:
            rows = await self._claim(namespace, request)
            short = len(rows) < request.most and len(request.queues) == 1
            due = await self._leasing.next_due(namespace, request.queues[0]) if short else None
            return rows, due
        topics = [work_topic(QueueKey(namespace, name)) for name in request.queues]
        topics.append(worker_topic(WorkerKey(namespace, request.worker_id)))
        bells = [self._bells.subscribe(topic) for topic in topics]
        try:
            return await self._wait_for_work(namespace, request, bells), None
        finally:
            for bell in bells:
                bell.close()

    async def _wait_for_work(
        self, namespace: str, request: PollRequest, bells: list[Subscription]
    ) -> list[Invocation]:
        ends = time.monotonic() + request.timeout_s
        while True:
            rows = await self._claim(namespace, request)
            left = ends - time.monotonic()
            if rows or left <= 0 or self._stopping():
                return rows
            if (await self._workers.at_poll(namespace, request.worker_id)).drain:
                return []
            await self._pause(namespace, request.queues, bells, left)

    async def _pause(
        self, namespace: str, queues: Sequence[str], bells: list[Subscription], left: float
    ) -> None:
        limit = min(left, _LOOK_AGAIN_DEGRADED_S if self._bells.degraded else _LOOK_AGAIN_S)
        for name in queues:
            due = await self._leasing.next_due(namespace, name)
            if due is not None:
                limit = min(limit, max(due, _SHORTEST_S))
        await first_ring(bells, limit)

    async def _claim(self, namespace: str, request: PollRequest) -> list[Invocation]:
        rows: list[Invocation] = []
        for name in request.queues:
            rows += await self._claiming.claim(
                namespace,
                name,
                request.worker_id,
                request.most - len(rows),
                lease_s=request.lease_s,
                kind=request.kind,
                temperature=request.temperature,
            )
            if len(rows) >= request.most:
                break
        return rows

    async def _commands(
        self, namespace: str, worker_id: str, rows: Sequence[Invocation]
    ) -> list[dict[str, Any]]:
        """Make the orders. A row whose arguments are gone fails; one whose arguments cannot be had now goes back."""
        commands, later = [], None
        for row in rows:
            try:
                commands.append(run_command(row, await self._args(namespace, row)))
            except NotFound:
                await self._finishing.report(namespace, worker_id, [args_lost(row)])
            except StoreUnavailable as refusal:
                later = refusal
                await self._leasing.release(namespace, worker_id, [id_of(row)], delay_s=_ARGS_AGAIN_S)
        if later is not None and not commands:
            raise later
        return commands

    async def _args(self, namespace: str, row: Invocation) -> dict[str, Any]:
        ref = row.get("argsRef")
        if ref is not None and self._payloads.served_by_ref(ref):
            return {"args_ref": ref}
        return {"args_blob": await self._payloads.args_of(namespace, row)}


def hibernate(worker_id: str) -> dict[str, Any]:
    """Make the order to drain."""
    return {"id": f"hibernate-{worker_id}", "kind": "hibernate", "body": {"reason": "drain"}}


def args_lost(row: Invocation) -> Report:
    """Make the report that ends a row whose arguments nobody can find any more."""
    error = {
        "type": "PayloadLost",
        "message": "its arguments are not in the blob store any more: submit it again",
    }
    return Report(id_of(row), row["attempt"], "failed", error=error)


def run_command(row: Invocation, args: dict[str, Any]) -> dict[str, Any]:
    """Make the order to run a claimed row; ``args``: its ``args_blob`` or ``args_ref``."""
    inv_id = id_of(row)
    config = row["runConfig"]
    body: dict[str, Any] = {
        "invocation_id": inv_id,
        "queue": config["queue"],
        "function": row.get("function") or {},
        **args,
        "run_config": config,
        "attempt": row["attempt"],
        "crashes": row["crashes"],
        "root_invocation_id": row["rootInvocationId"],
    }
    if config.get("prefix"):
        body["prefix"] = config["prefix"]
    if row.get("parentInvocationId"):
        body["parent_invocation_id"] = row["parentInvocationId"]
    if row.get("codeRepoId"):
        body["code_repo"] = row["codeRepoId"]
    return {"id": f"{inv_id}-{row['attempt']}", "kind": "run", "body": body}
