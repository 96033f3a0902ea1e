"""A worker's claims that are asked for ahead: the request waits on the server while the worker does other things."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from dreamlake.lakeshore.dispatch.arguments import check_claim
from dreamlake.lakeshore.dispatch.http import working
from dreamlake.lakeshore.dispatch.http.attempts import READ_S
from dreamlake.lakeshore.dispatch.http.connections import LostError
from dreamlake.lakeshore.dispatch.http.faults import fault_of, unreachable
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S, fields_of
from dreamlake.lakeshore.dispatch.http.words import packed
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dreamlake.lakeshore.dispatch.http.answers import Answer
    from dreamlake.lakeshore.dispatch.http.connections import Connection
    from dreamlake.lakeshore.dispatch.http.drains import DrainOrders
    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.plane import Claimed, Finished

_SEND_S = 10.0


class Polled(NamedTuple):
    """What a poll brought: claims, and the ids of reports that rode on it and were fenced."""

    claims: list[Claimed]
    fenced: set[str]


class HttpPolls:
    """One question at a time, on a connection of its own. For one thread.

    ``ask`` sends it, ``fileno`` becomes readable with its answer, ``answer`` takes it. When the answer is lost, the
    next one brings what it held, and reports that rode on it are to be sent again.
    """

    def __init__(self, requests: Requests, orders: DrainOrders, worker_id: str) -> None:
        self._requests = requests
        self._orders = orders
        self._worker_id = worker_id
        self._connection: Connection | None = None
        self._queue = ""
        self._most = 0
        self._claim_id = ""
        self._answered = True

    def ask(
        self,
        queue: str,
        n: int,
        reports: Sequence[Finished],
        *,
        kind: str,
        temperature: float,
        lease_s: float,
    ) -> None:
        """Report ends (small ones; at most 1,000), then ask for up to ``n`` (1,000) claims, as soon as there are any.

        Raises ``DispatchError`` when nothing was sent.
        """
        check_claim(queue, self._worker_id, kind, temperature, lease_s)
        self._queue, self._most = queue, n
        again = not self._answered
        if not again:
            self._claim_id, self._answered = working.new_id(), False
        body: dict[str, Any] = {
            "worker_id": self._worker_id,
            "queue": queue,
            "max": n,
            "timeout_s": LONG_POLL_S,
            "lease_s": float(lease_s),
            "kind": kind,
            "temperature": float(temperature),
            "claim_id": self._claim_id,
            "again": again,
        }
        if reports:
            body["acks"] = [self._requests.run(working.report_of(item, item.attempt)) for item in reports]
        self._send(self._requests.words.raw("POST", "daemon/poll", *packed(body)))

    def _send(self, request: bytes) -> None:
        while True:
            connection, fresh = self._connection, self._connection is None
            try:
                if connection is None:
                    connection = self._connection = self._requests.pool.lend()
                elif connection.is_stale():
                    self.hang_up()
                    continue
                connection.send(request, _SEND_S)
            except LostError as lost:
                self.hang_up()
                if fresh:
                    raise unreachable(self._requests.address, lost.reason) from lost
            else:
                return

    def fileno(self) -> int:
        """Give the descriptor of the connection; it may be another one after every ``ask``. -1 without one."""
        return -1 if self._connection is None else self._connection.fileno()

    def answer(self) -> Polled:
        """Take the answer, which begins to arrive. Raises ``DispatchError``."""
        connection = self._connection
        if connection is None:
            raise DispatchError("nothing was asked")
        try:
            answer = connection.receive(READ_S)
        except LostError as lost:
            self.hang_up()
            raise unreachable(self._requests.address, lost.reason) from lost
        connection.idle_since = time.monotonic()
        if not answer.keep:
            self.hang_up()
        return self._polled(answer)

    def _polled(self, answer: Answer) -> Polled:
        if answer.status >= 300:
            raise fault_of(answer, self._requests.address).error(self._requests.address)
        found = fields_of(answer, self._requests.address)
        self._answered = True
        self._orders.note(self._worker_id, found)
        bodies = self._requests.run(working.runs_of(self._worker_id, found, self._most))
        claims = self._requests.run(working.claims_of(self._worker_id, self._queue, bodies))
        return Polled(claims, set(found["fenced"]))

    def hang_up(self) -> None:
        """Take the question back: the server gives its claims to others, or to the next question."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._requests.pool.drop(connection)
