"""``Dispatch``: the local plane, the executable specification of the dispatch contract."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dreamlake.lakeshore.dispatch.clock import Clock, SystemClock
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
from dreamlake.lakeshore.dispatch.sqlite import (
    claiming,
    finishing,
    journal,
    purging,
    queues,
    results,
    submitting,
    workers,
)
from dreamlake.lakeshore.dispatch.sqlite.completions import CompletionStream
from dreamlake.lakeshore.dispatch.sqlite.store import Store
from dreamlake.lakeshore.errors import ErrorInfo

_PLAIN = RunConfig()


class Dispatch:
    """A dispatch plane in one SQLite file (or in memory), shared by all processes that open the file.

    ``path``: the file, made when missing, or ``":memory:"`` for one that this process's threads share. ``ns``: rows,
    queues and workers of other namespaces in the same file are out of sight. ``durable``: wait for the disk at every
    change, so that a power failure loses nothing; without it the file stays whole but the last moments may be
    missing. A killed process loses nothing either way.

    The verbs and what they promise are those of ``dreamlake.lakeshore.dispatch.plane.Plane``.
    Raises ``ConfigError`` when the file cannot be opened.
    """

    local = True

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        ns: str = "default",
        durable: bool = False,
        _clock: Clock | None = None,
        _rng: random.Random | None = None,
    ) -> None:
        self._store = Store(
            os.fspath(path),
            ns=check_namespace(ns),
            durable=durable,
            clock=_clock or SystemClock(),
            rng=_rng or random.SystemRandom(),
        )

    def __repr__(self) -> str:
        return f"Dispatch({self._store.path!r}, ns={self._store.ns!r})"

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
        return submitting.submit_many(self._store, queue, [Submission(id, envelope, config, parent)])[0]

    def submit_many(self, queue: str, items: Sequence[Submission]) -> list[str]:
        """Store all or none, in order, in one transaction; the ids as ``submit`` would give them."""
        return submitting.submit_many(self._store, queue, items)

    def cancel(self, inv_id: str) -> bool:
        """End a queued or running invocation as ``cancelled``; False when it had ended or is unknown."""
        return bool(finishing.cancel(self._store, [inv_id]))

    def cancel_many(self, ids: Iterable[str]) -> set[str]:
        """End many as ``cancel`` does, in one transaction; the ids of those that this call ended."""
        return finishing.cancel(self._store, ids)

    def get(self, inv_id: str) -> dict[str, object] | None:
        """Give the invocation row (without envelope and result bytes), or None."""
        return results.get(self._store, inv_id)

    def result(self, inv_id: str, *, timeout: float = 30.0, poll: float = 0.02) -> bytes:
        """Wait for success and give the packed result; ``poll`` is not needed here, ends wake the waiter."""
        return results.result(self._store, inv_id, timeout)

    def completions(self) -> Completions:
        """Open a stream of outcomes."""
        return CompletionStream(self._store)

    def count(self, queue: str, state: str = "queued") -> int:
        """Count the rows of a queue in one state; delayed ones are queued."""
        return queues.count(self._store, queue, state)

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
        """Lease up to ``n`` in one transaction, in the same order and with the same odds as ``claim``."""
        return claiming.claim_many(
            self._store, queue, worker_id, n, kind=kind, temperature=temperature, lease_s=lease_s
        )

    def renew(self, ids: Iterable[str], worker_id: str, *, lease_s: float = DEFAULT_LEASE_S) -> set[str]:
        """Extend the leases still held; the ids that are *no longer* held."""
        return finishing.renew(self._store, ids, worker_id, lease_s)

    def release(self, ids: Iterable[str], worker_id: str) -> int:
        """Hand back claims that were never started: queued again at their place, no attempt used."""
        return finishing.release(self._store, ids, worker_id)

    def ack(
        self, inv_id: str, worker_id: str, *, result: bytes | None = None, attempt: int | None = None
    ) -> None:
        """End a running attempt as succeeded. Raises ``FencedError`` when it is not this worker's any more."""
        finishing.finish(self._store, inv_id, worker_id, attempt, Finished(inv_id, 0, result))

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
        told = Finished(inv_id, 0, error=finishing.error_of(error), retry=retry, delay_s=delay_s)
        finishing.finish(self._store, inv_id, worker_id, attempt, told)

    def ack_many(self, worker_id: str, items: Sequence[Finished]) -> set[str]:
        """Report many attempts in one transaction; the ids that were fenced (nothing changed for them)."""
        return finishing.ack_many(self._store, worker_id, items)

    # -- frames
    def journal_append(self, inv_id: str, seq: int | None, frame_bytes: bytes, *, final: bool = False) -> int:
        """Append one frame and return its seq; idempotent on (inv_id, seq); None takes the next seq."""
        return journal.append(self._store, inv_id, seq, frame_bytes, final=final)

    def journal_append_many(
        self, inv_id: str, frames: Sequence[Frame], *, worker_id: str | None = None
    ) -> None:
        """Append in one transaction, fenced when ``worker_id`` is given."""
        journal.append_many(self._store, inv_id, frames, worker_id)

    def journal_read(
        self,
        inv_id: str,
        *,
        since: int = -1,
        timeout: float = 30.0,
        poll: float = 0.02,
    ) -> Iterator[tuple[int, bytes]]:
        """Yield ``(seq, frame)`` after ``since``, gapless and in order, until final or a terminal state."""
        return journal.read(self._store, inv_id, since, timeout)

    def journal_trim(self, inv_id: str, *, keep_last: int = 0) -> int:
        """Drop all but the last frames; how many went. Rows and results are untouched."""
        return journal.trim(self._store, inv_id, keep_last)

    # -- waiting
    def listen(self, topic: str) -> Listener:
        """Subscribe to ``work:<queue>``, ``done`` or ``journal:<id>`` (its frames, and its invocation's end)."""
        return self._store.wakeups.listen(topic)

    def next_due(self, queue: str) -> float | None:
        """Seconds until a delayed row or an expiring lease of this queue wants attention, or None."""
        return claiming.next_due(self._store, queue)

    def now(self) -> float:
        """Seconds on the plane's clock."""
        return self._store.now()

    # -- queues and workers
    def declare_queue(self, record: QueueRecord) -> None:
        """Create the queue or change its kind; its lifecycle state is kept."""
        queues.declare(self._store, record)

    def set_queue_state(self, name: str, state: QueueState) -> None:
        """Move a queue through its lifecycle. Raises ``DispatchError`` when there is no such queue."""
        queues.set_state(self._store, name, state)

    def queue_record(self, name: str) -> QueueRecord | None:
        """Give the declared queue, or None (an undeclared one works as an active fifo)."""
        return queues.record(self._store, name)

    def queues(self) -> list[QueueRecord]:
        """List declared queues and those that have rows, by name."""
        return queues.listing(self._store)

    def invocations(
        self, *, queue: str | None = None, state: str | None = None, limit: int = 50
    ) -> list[dict[str, object]]:
        """List rows as ``get`` gives them, newest first."""
        return results.listing(self._store, queue, state, limit)

    def signals(self, queue: str) -> QueueSignals:
        """Give one consistent snapshot for the elasticity controller."""
        return workers.signals(self._store, queue)

    def register_worker(self, record: WorkerRecord) -> None:
        """Insert or replace a worker's record; also its heartbeat."""
        workers.register(self._store, record)

    def remove_worker(self, worker_id: str) -> None:
        """Forget a worker that has ended."""
        workers.remove(self._store, worker_id)

    def workers(self, queue: str | None = None) -> list[WorkerRecord]:
        """List registered workers with ``leased`` counted from the rows."""
        return workers.listing(self._store, queue)

    def purge(self, *, older_than_s: float) -> int:
        """Forget invocations (and their frames) that ended longer ago than this; how many went."""
        return purging.purge(self._store, older_than_s)

    def close(self) -> None:
        """Release everything; further calls raise ``DispatchError``."""
        self._store.close()
