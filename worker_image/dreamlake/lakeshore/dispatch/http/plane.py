"""``HttpDispatch``: the plane that a control plane serves."""

from __future__ import annotations

import math
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch.http import (
    code_repos,
    journals,
    queues,
    results,
    submitting,
    workers,
    working,
)
from dreamlake.lakeshore.dispatch.http.address import check_token, parse_address
from dreamlake.lakeshore.dispatch.http.completions import HttpCompletions
from dreamlake.lakeshore.dispatch.http.drains import DrainOrders
from dreamlake.lakeshore.dispatch.http.listening import HttpListener
from dreamlake.lakeshore.dispatch.http.polls import HttpPolls
from dreamlake.lakeshore.dispatch.http.requests import Requests
from dreamlake.lakeshore.dispatch.names import check_namespace
from dreamlake.lakeshore.dispatch.plane import (
    DEFAULT_LEASE_S,
    Claimed,
    Completions,
    Finished,
    Frame,
    Listener,
    QueueRecord,
    QueueSignals,
    QueueState,
    RunConfig,
    Submission,
    WorkerRecord,
)
from dreamlake.lakeshore.errors import ConfigError, ErrorInfo

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dreamlake.lakeshore.dispatch.http.asynchronous import AsyncHttp

_PLAIN = RunConfig()
_PURGE_S = 110.0
"""Seconds that a purge may take: it ends once all rows are gone, below the 120 s that balancers let pass in silence."""


class HttpDispatch:
    """The dispatch plane of a control plane at ``base_url`` (``https://lakeshore.example.com``).

    ``token``: one of its tokens; none where it asks for none. ``namespace``: whose rows these are; ``default`` is
    the token's own. ``timeout``: seconds that a request is tried again for while the control plane is away or
    cannot answer; every verb may be tried again without harm, but for the few that say so. Making one connects to
    nothing yet. For any number of threads, and in the children of a fork.

    The verbs and what they promise are those of ``dreamlake.lakeshore.dispatch.plane.Plane``.
    Raises ``ConfigError`` for a URL, a token or a namespace that cannot be one.
    """

    local = False

    def __init__(
        self, base_url: str, *, token: str | None = None, namespace: str = "default", timeout: float = 30.0
    ) -> None:
        if not (isinstance(timeout, int | float) and math.isfinite(timeout) and timeout >= 0):
            raise ConfigError(f"timeout {timeout!r}: use a number of seconds, 0 or more")
        self._requests = Requests(
            parse_address(base_url),
            token=check_token(token),
            namespace=check_namespace(namespace),
            timeout_s=float(timeout),
        )
        self._orders = DrainOrders()
        self._faces: dict[asyncio.AbstractEventLoop, AsyncHttp] = {}
        self._finalizer = weakref.finalize(self, self._requests.close)

    def __repr__(self) -> str:
        return f"HttpDispatch({self._requests.address.url!r}, namespace={self._requests.namespace!r})"

    # -- producing
    def submit(
        self,
        queue: str,
        envelope: bytes,
        *,
        id: str,  # noqa: A002 - the specification's name
        key: str | None = None,
        priority: float = 0.0,
        parent: str | None = None,
        config: RunConfig | None = None,
    ) -> str:
        """Store one invocation and return its id (the earlier one's when ``key`` is known here)."""
        config = config or _PLAIN
        if key is not None:
            config = replace(config, key=key)
        if priority:
            config = replace(config, priority=priority)
        return self.submit_many(queue, [Submission(id, envelope, config, parent)])[0]

    def submit_many(self, queue: str, items: Sequence[Submission]) -> list[str]:
        """Store in order: all or none up to 1,000 items (48 MiB), more of them a thousand at a time."""
        return self._requests.run(submitting.submit_many(queue, items, self._requests.timeout_s))

    def cancel(self, inv_id: str) -> bool:
        """End a queued or running invocation as ``cancelled``; False when it had ended or is unknown."""
        return bool(self.cancel_many([inv_id]))

    def cancel_many(self, ids: Iterable[str]) -> set[str]:
        """End many as ``cancel`` does, up to 1,000 a request; the ids of those that this call ended."""
        return self._requests.run(submitting.cancel(ids))

    def get(self, inv_id: str) -> dict[str, object] | None:
        """Give the invocation row (without envelope and result bytes), or None."""
        return self._requests.run(results.get(inv_id))

    def result(self, inv_id: str, *, timeout: float = 30.0, poll: float = 0.02) -> bytes:
        """Wait for success and give the packed result; ``poll`` is not needed here, the server waits."""
        found = self._requests.run(results.result(inv_id, timeout))
        if found is None:
            raise results.still_waiting(self._requests, inv_id, timeout)
        return found

    def completions(self) -> Completions:
        """Open a stream of outcomes."""
        return HttpCompletions(self._requests)

    def count(self, queue: str, state: str = "queued") -> int:
        """Count the rows of a queue in one state; delayed ones are queued."""
        return self._requests.run(queues.count(queue, state))

    # -- working
    def claim(
        self,
        queue: str,
        worker_id: str,
        *,
        kind: str = "fifo",
        temperature: float = 1.0,
        lease_s: float = DEFAULT_LEASE_S,
    ) -> Claimed | None:
        """Lease the next invocation in the order of ``kind``, or None."""
        found = self.claim_many(queue, worker_id, 1, kind=kind, temperature=temperature, lease_s=lease_s)
        return found[0] if found else None

    def claim_many(
        self,
        queue: str,
        worker_id: str,
        n: int,
        *,
        kind: str = "fifo",
        temperature: float = 1.0,
        lease_s: float = DEFAULT_LEASE_S,
    ) -> list[Claimed]:
        """Lease up to ``n``, a thousand at a time. A lost answer's claims come back when their leases end."""
        claiming = working.claim_many(
            self._orders, queue, worker_id, n, kind=kind, temperature=temperature, lease_s=lease_s
        )
        return self._requests.run(claiming)

    def polls(self, worker_id: str) -> HttpPolls:
        """Open a worker's way to ask for claims ahead, with ends that ride on the question."""
        return HttpPolls(self._requests, self._orders, worker_id)

    def renew(self, ids: Iterable[str], worker_id: str, *, lease_s: float = DEFAULT_LEASE_S) -> set[str]:
        """Extend the leases still held; the ids that are *no longer* held."""
        return self._requests.run(working.renew(self._orders, ids, worker_id, lease_s))

    def release(self, ids: Iterable[str], worker_id: str) -> int:
        """Hand back claims that were never started: queued again at their place, no attempt used."""
        return self._requests.run(working.release(ids, worker_id))

    def ack(
        self, inv_id: str, worker_id: str, *, result: bytes | None = None, attempt: int | None = None
    ) -> None:
        """End a running attempt as succeeded. Raises ``FencedError`` when it is not this worker's any more."""
        self._requests.run(working.finish(worker_id, attempt, Finished(inv_id, 0, result)))

    def nack(
        self,
        inv_id: str,
        worker_id: str,
        *,
        error: ErrorInfo | dict[str, str] | str,
        retry: bool = True,
        attempt: int | None = None,
        delay_s: float = 0.0,
    ) -> None:
        """Report a failed attempt: queued again when ``retry``, else ``failed``. Fenced like ``ack``."""
        told = Finished(inv_id, 0, error=working.error_of(error), retry=retry, delay_s=delay_s)
        self._requests.run(working.finish(worker_id, attempt, told))

    def ack_many(self, worker_id: str, items: Sequence[Finished]) -> set[str]:
        """Report many attempts, up to 1,000 or 4 MiB a request; the ids that were fenced."""
        return self._requests.run(working.ack_many(worker_id, items))

    # -- frames
    def journal_append(self, inv_id: str, seq: int | None, frame_bytes: bytes, *, final: bool = False) -> int:
        """Append one frame and return its seq; idempotent on (inv_id, seq); None takes the next seq."""
        return journals.append(self._requests, inv_id, seq, frame_bytes, final=final)

    def journal_append_many(
        self, inv_id: str, frames: Sequence[Frame], *, worker_id: str | None = None
    ) -> None:
        """Append all or none, fenced when ``worker_id`` is given."""
        journals.append_many(self._requests, inv_id, frames, worker_id)

    def journal_read(
        self,
        inv_id: str,
        *,
        since: int = -1,
        timeout: float = 30.0,
        poll: float = 0.02,
    ) -> Iterator[tuple[int, bytes]]:
        """Yield ``(seq, frame)`` after ``since``, gapless and in order, until final or a terminal state."""
        return journals.read(self._requests, inv_id, since, timeout)

    def journal_trim(self, inv_id: str, *, keep_last: int = 0) -> int:
        """Drop all but the last frames; how many went. Rows and results are untouched."""
        return journals.trim(self._requests, inv_id, keep_last)

    # -- waiting
    def listen(self, topic: str) -> Listener:
        """Subscribe to ``work:<queue>``, ``done`` or ``journal:<id>`` (its frames, and its invocation's end)."""
        return HttpListener(self._requests, topic)

    def next_due(self, queue: str) -> float | None:
        """Seconds until a delayed row or an expiring lease of this queue wants attention, or None."""
        return self._requests.run(queues.next_due(queue))

    def now(self) -> float:
        """Seconds on the control plane's clock."""
        return queues.now(self._requests)

    # -- queues and workers
    def declare_queue(self, record: QueueRecord) -> None:
        """Create the queue or change its kind; its lifecycle state is kept."""
        queues.declare(self._requests, record)

    def set_queue_state(self, name: str, state: QueueState) -> None:
        """Move a queue through its lifecycle. Raises ``DispatchError`` when there is no such queue."""
        queues.set_state(self._requests, name, state)

    def queue_record(self, name: str) -> QueueRecord | None:
        """Give the declared queue, or None (an undeclared one works as an active fifo)."""
        return queues.record(self._requests, name)

    def queues(self) -> list[QueueRecord]:
        """List declared queues and those that have rows, by name."""
        return queues.listing(self._requests)

    def invocations(
        self, *, queue: str | None = None, state: str | None = None, limit: int = 50
    ) -> list[dict[str, object]]:
        """List rows as ``get`` gives them, newest first."""
        return results.listing(self._requests, queue, state, limit)

    def signals(self, queue: str) -> QueueSignals:
        """Give one consistent snapshot for the elasticity controller."""
        return queues.signals(self._requests, queue)

    def register_worker(self, record: WorkerRecord) -> None:
        """Insert or replace a worker's record; also its heartbeat."""
        workers.register(self._requests, self._orders, record)

    def remove_worker(self, worker_id: str) -> None:
        """Forget a worker that has ended."""
        self._orders.forget(worker_id)
        workers.remove(self._requests, worker_id)

    def drain_ordered(self, worker_id: str) -> bool:
        """Whether the control plane told this worker to drain, with an answer to a claim, a renewal or a heartbeat."""
        return worker_id in self._orders

    def workers(self, queue: str | None = None) -> list[WorkerRecord]:
        """List registered workers with ``leased`` counted from the rows."""
        return workers.listing(self._requests, queue)

    def purge(self, *, older_than_s: float) -> int:
        """Forget invocations (and their frames) that ended longer ago than this; how many went."""
        asked = {"older_than_s": float(older_than_s)}
        return int(self._requests.post("producer/purge", asked, wait_s=_PURGE_S)["purged"])

    # -- code
    @property
    def code_scope(self) -> str:
        """Name the control plane and the namespace: the same code id means something else elsewhere."""
        return f"{self._requests.address.url}/{self._requests.namespace}"

    def announce_code(
        self, *, remote: str, commit: str, dirty: bool, size: int, sha256: str
    ) -> dict[str, Any]:
        """Ask whether an archive of code is there: ``{code_repo_id, exists, upload?: {url, headers}}``."""
        return code_repos.announce(
            self._requests, remote=remote, commit=commit, dirty=dirty, size=size, sha256=sha256
        )

    def upload_code(self, code_repo_id: str, data: bytes, upload: Mapping[str, Any] | None) -> None:
        """Bring an archive of code, to where ``announce_code`` said."""
        code_repos.upload(self._requests, code_repo_id, data, upload)

    def fetch_code(self, code_repo_id: str) -> bytes:
        """Give an archive of code. Raises ``DispatchError``."""
        return code_repos.fetch(self._requests, code_repo_id)

    # -- event loops
    def asynchronous(self) -> AsyncHttp:
        """Give the face for the event loop that runs: the same verbs without threads."""
        import asyncio  # noqa: PLC0415 - programs without an event loop do without

        loop = asyncio.get_running_loop()
        for old in [known for known in self._faces if known.is_closed()]:
            del self._faces[old]
        found = self._faces.get(loop)
        if found is None:
            from dreamlake.lakeshore.dispatch.http.asynchronous import AsyncHttp  # noqa: PLC0415 - and without aiohttp

            found = self._faces[loop] = AsyncHttp(self._requests, self._orders)
        return found

    def close(self) -> None:
        """Close every connection, also those that wait; further calls raise ``DispatchError``."""
        self._finalizer()
        faces, self._faces = self._faces, {}
        for loop, face in faces.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(face.close_soon)
