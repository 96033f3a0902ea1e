"""A worker's poll: ends come in, then an order to drain or a claim goes out, waiting for work when asked to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.services.claiming import Claiming
from lakeshore_controlplane.services.finishing import Finishing, Report
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.topics import work_topic
from lakeshore_controlplane.services.workers import Workers
from lakeshore_controlplane.store.bells.port import Bells, Subscription
from lakeshore_controlplane.store.lane.port import QueueKey

_LOOK_AGAIN_S = 5.0
_LOOK_AGAIN_DEGRADED_S = 0.5
_SHORTEST_S = 0.005


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
        return PollAnswer([await self._command(namespace, row) for row in rows], fenced, due)

    async def _take(self, namespace: str, request: PollRequest) -> tuple[list[Invocation], float | None]:
        if request.timeout_s <= 0:
            rows = await self._claim(namespace, request)
            short = len(rows) < request.most and len(request.queues) == 1
            due = await self._leasing.next_due(namespace, request.queues[0]) if short else None
            return rows, due
        bells = [self._bells.subscribe(work_topic(QueueKey(namespace, name))) for name in request.queues]
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
        if len(bells) == 1:
            await bells[0].wait(limit)
        else:
            await first_of(bells, limit)

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

    async def _command(self, namespace: str, row: Invocation) -> dict[str, Any]:
        return run_command(row, await self._payloads.args_of(namespace, row))


def hibernate(worker_id: str) -> dict[str, Any]:
    """Make the order to drain."""
    return {"id": f"hibernate-{worker_id}", "kind": "hibernate", "body": {"reason": "drain"}}


def run_command(row: Invocation, args: bytes) -> dict[str, Any]:
    """Make the order to run a claimed row."""
    inv_id = row["_id"].partition("/")[2]
    config = row["runConfig"]
    body: dict[str, Any] = {
        "invocation_id": inv_id,
        "queue": config["queue"],
        "function": row.get("function") or {},
        "args_blob": args,
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


async def first_of(bells: Sequence[Subscription], limit: float) -> None:
    """Wait until one of them rings, or ``limit`` seconds."""
    tasks = [asyncio.ensure_future(bell.wait(limit)) for bell in bells]
    try:
        await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
