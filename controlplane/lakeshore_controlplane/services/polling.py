"""A worker's poll: ends come in, then an order to drain or a claim goes out, waiting for work when asked to.

An answer that reaches nobody costs no attempt: a claim for a connection that is gone is handed back, and a poll that is
sent again gets the rows that its first answer held.
"""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import Stopping, StoreUnavailable
from lakeshore_controlplane.services.askers import Asker
from lakeshore_controlplane.services.claiming import Claiming
from lakeshore_controlplane.services.finishing import Finishing, Report
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.repeated_polls import ClaimName, Earlier, RepeatedPolls
from lakeshore_controlplane.services.run_commands import RunCommands, hibernate
from lakeshore_controlplane.services.topics import work_topic
from lakeshore_controlplane.services.waiting_lines import Lines, Place
from lakeshore_controlplane.services.workers import Workers, worker_topic
from lakeshore_controlplane.store.bells.port import Bells, Ring, Subscription
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.workers import WorkerKey

_ORDERS_S = 30.0
_ORDERS_DEGRADED_S = 5.0
"""Seconds after which a waiting poll asks for orders though none rang; it is a sign of life of its worker too."""
_TURNS = 10_000
"""Workers of several queues whose turn is remembered."""


@dataclass(frozen=True, slots=True)
class PollRequest:
    """What a worker asks for: up to ``most`` claims of ``queues``, waiting up to ``timeout_s`` for the first.

    ``claim_id``: its own name for what it gets, random for each poll. ``again``: it has sent this poll before.
    """

    worker_id: str
    queues: Sequence[str]
    timeout_s: float = 0.0
    most: int = 1
    lease_s: float | None = None
    kind: str | None = None
    temperature: float | None = None
    reports: list[Report] = field(default_factory=list)
    claim_id: str | None = None
    again: bool = False


class PollAnswer(NamedTuple):
    """Commands for the worker, its reports that were fenced, and when the queue wants another look."""

    commands: list[dict[str, Any]]
    fenced: list[str]
    next_due_s: float | None


NOTHING = PollAnswer([], [], None)


class _ForNobodyError(Exception):
    """Nobody is there to take the answer."""


@dataclass(slots=True)
class _Poll:
    """A poll that may claim. ``heard``: the worker's own bell. ``cordoned``: as it was at the last look."""

    worker: WorkerKey
    request: PollRequest
    asker: Asker
    queues: list[QueueKey]
    heard: Subscription
    place: Place
    cordoned: bool = False
    _superseded: bool = False

    async def is_over(self) -> bool:
        """Whether it shall claim nothing more: its worker is gone, or asks another replica by now."""
        return self.is_superseded() or await self.asker.has_left()

    def is_superseded(self) -> bool:
        """Whether another replica was asked in the name of this poll."""
        heard = self.heard.payloads()
        if self.request.claim_id is not None and self.request.claim_id.encode() in heard:
            self._superseded = True
        return self._superseded


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
        stopping: Callable[[], bool],
    ) -> None:
        """``stopping()`` says whether this replica is going away."""
        self._claiming = claiming
        self._finishing = finishing
        self._leasing = leasing
        self._workers = workers
        self._commands = RunCommands(payloads=payloads, finishing=finishing, leasing=leasing)
        self._bells = bells
        self._stopping = stopping
        self._lines = Lines(bells=bells, next_due=lambda queue: leasing.next_due(*queue))
        self._repeats: RepeatedPolls[PollAnswer] = RepeatedPolls()
        self._turns: OrderedDict[WorkerKey, int] = OrderedDict()
        self.waiting = 0
        """Polls that wait for something to happen."""

    async def poll(self, namespace: str, request: PollRequest, asker: Asker) -> PollAnswer:
        """Take the reports, then give a drain order or claims."""
        worker = WorkerKey(namespace, request.worker_id)
        fenced: list[str] = []
        if request.reports:  # those of every request: a poll that is made again may bring more of them
            fenced = await self._finishing.report(namespace, request.worker_id, request.reports)
        if request.most == 0:
            return PollAnswer([], fenced, None)
        if request.claim_id is None:
            found = await self._answer(worker, request, asker, "unknown")
        else:
            found = await self._repeats.once(
                ClaimName(worker, request.claim_id),
                asker,
                lambda askers, earlier: self._answer(worker, request, askers, earlier),
            )
        return (found or NOTHING)._replace(fenced=fenced)

    async def _answer(
        self, worker: WorkerKey, request: PollRequest, asker: Asker, earlier: Earlier
    ) -> PollAnswer | None:
        """Make the answer but for its ``fenced``; None when it is for nobody: then it holds back nothing."""
        queues = [QueueKey(worker.namespace, name) for name in self._in_turn(worker, request.queues)]
        heard = self._bells.subscribe(worker_topic(worker))
        poll = _Poll(worker, request, asker, queues, heard, Place(self._lines, queues, heard))
        try:
            if request.claim_id is None or (earlier == "unknown" and not request.again):
                rows = await self._claimed(poll)
            elif await asker.has_left():  # a request that comes late must not get in the way of a later one
                return None
            else:
                rows = await self._given_or_claimed(poll, request.claim_id, earlier)
        except _ForNobodyError:
            return None
        finally:
            poll.place.leave()
            heard.close()
        if rows is None:
            return PollAnswer([hibernate(worker.id)], [], None)
        commands = await self._commands.of(*worker, rows)
        return PollAnswer(commands, [], await self._next_due(poll, len(rows)))

    async def _given_or_claimed(
        self, poll: _Poll, claim_id: str, earlier: Earlier
    ) -> list[Invocation] | None:
        """Give what an earlier answer held; claim, where there was none."""
        lease_s = poll.request.lease_s
        # Another replica may still wait in the name of the same poll: it shall claim nothing from now on.
        self._bells.ring([Ring(worker_topic(poll.worker), claim_id.encode())])
        poll.heard.payloads()
        rows = await self._leasing.hand_out_again(*poll.worker, claim_id, lease_s)
        if rows:
            return rows
        found = await self._claimed(poll, look=earlier != "answered")
        # What the other one was about to claim when it heard of this poll may be there only now.
        return await self._leasing.hand_out_again(*poll.worker, claim_id, lease_s) or found

    async def _claimed(self, poll: _Poll, *, look: bool = True) -> list[Invocation] | None:
        """Claim, where it may still ``look``; nothing for those who are gone. None: the worker shall drain."""
        rows = await self._take(poll) if look else []
        if await poll.is_over():
            await self._leasing.take_back(rows or [])
            if await poll.asker.has_left():
                raise _ForNobodyError
            raise Stopping("this poll was made again elsewhere meanwhile", hint="make it again")
        return rows

    async def _take(self, poll: _Poll) -> list[Invocation] | None:
        """Claim, waiting where the poll may; None: the worker shall drain."""
        ends = time.monotonic() + poll.request.timeout_s
        look: Sequence[QueueKey] = poll.queues
        while True:
            orders = await self._workers.at_poll(*poll.worker)
            if orders.drain:
                return None
            if self._stopping():
                return []
            poll.cordoned = orders.cordoned
            rows, missed = ([], set()) if poll.cordoned else await self._look(poll, look)
            left = ends - time.monotonic()
            if rows or left <= 0:
                return rows
            if poll.cordoned:
                poll.place.step_aside()
            if not missed and await self._woken(poll, left) and await poll.is_over():
                return []
            wanted = {*poll.queues} if poll.cordoned else missed | poll.place.calls
            look = [queue for queue in poll.queues if queue in wanted]

    async def _look(self, poll: _Poll, queues: Sequence[QueueKey]) -> tuple[list[Invocation], set[QueueKey]]:
        """Claim, or stand in line; and the queues that rang meanwhile."""
        cursors = {queue: self._bells.cursor(work_topic(queue)) for queue in queues}
        rows = await self._claim(poll, queues)
        if rows or poll.request.timeout_s <= 0:
            return rows, set()
        poll.place.stand()
        missed = {queue for queue in queues if self._bells.moved(work_topic(queue), cursors[queue])}
        return rows, missed | poll.place.calls

    async def _woken(self, poll: _Poll, left: float) -> bool:
        poll.asker.watch(lambda: poll.heard.hear(b""))
        limit_s = min(left, _ORDERS_DEGRADED_S if self._bells.degraded else _ORDERS_S)
        self.waiting += 1
        try:
            return await poll.heard.wait(limit_s)
        finally:
            self.waiting -= 1

    async def _claim(self, poll: _Poll, queues: Sequence[QueueKey]) -> list[Invocation]:
        rows: list[Invocation] = []
        request = poll.request
        for queue in queues:
            try:
                found = await self._claiming.claim(
                    *queue,
                    request.worker_id,
                    request.most - len(rows),
                    lease_s=request.lease_s,
                    kind=request.kind,
                    temperature=request.temperature,
                    claim_id=request.claim_id,
                )
            except StoreUnavailable:
                if not rows:  # what is leased is handed out
                    raise
                break
            poll.place.looked(queue, found=bool(found))
            rows += found
            if len(rows) >= request.most:
                break
        return rows

    def _in_turn(self, worker: WorkerKey, names: Sequence[str]) -> Sequence[str]:
        """Let each queue be the first to be asked in one of the worker's polls, so that none keeps others from it."""
        names = [*dict.fromkeys(names)]
        if len(names) == 1:
            return names
        turn = self._turns.pop(worker, None)
        turn = random.randrange(len(names)) if turn is None else (turn + 1) % len(names)  # noqa: S311
        self._turns[worker] = turn
        if len(self._turns) > _TURNS:
            self._turns.popitem(last=False)
        return [*names[turn:], *names[:turn]]

    async def _next_due(self, poll: _Poll, claimed: int) -> float | None:
        request = poll.request
        if request.timeout_s > 0 or claimed >= request.most or len(poll.queues) > 1 or poll.cordoned:
            return None
        return await self._leasing.next_due(*poll.queues[0])
