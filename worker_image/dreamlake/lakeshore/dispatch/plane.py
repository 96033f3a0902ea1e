"""The verbs that every dispatch plane has, and the values that pass through them.

A plane keeps invocation rows and frame journals. ``Dispatch`` (SQLite) is one; the HTTP plane is another.
Queues, workers, the elastic pool and the command line are written against these protocols only, so one
conformance suite serves every plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from dreamlake.lakeshore.errors import ErrorInfo

State: TypeAlias = Literal["queued", "running", "succeeded", "failed", "cancelled"]
STATES: tuple[State, ...] = ("queued", "running", "succeeded", "failed", "cancelled")
TERMINAL_STATES: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})

QueueKind: TypeAlias = Literal["fifo", "priority", "filo", "boltzmann"]
QUEUE_KINDS: tuple[QueueKind, ...] = ("fifo", "priority", "filo", "boltzmann")

QueueState: TypeAlias = Literal["active", "draining", "paused", "archived"]

DEFAULT_LEASE_S = 30.0
"""Seconds that a claim stands without renewal."""
DEFAULT_MAX_ATTEMPTS = 3
"""Times that one invocation may take its worker down before it is dead-lettered as ``PoisonJob``."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pause before attempt n+1: uniform in ``[0, min(cap_s, base_s * 2**(n-1))]`` (full jitter)."""

    base_s: float = 0.5
    cap_s: float = 60.0


@dataclass(frozen=True, slots=True)
class RunConfig:
    """How one invocation is to be run; everything is optional.

    ``retries``: attempts after the first when the body fails (None: the worker's own setting).
    ``timeout_s``: seconds that one attempt may run. ``deadline``: Unix time in seconds after which it must
    not start any more. ``delay_s``: seconds to wait before it may start.
    """

    priority: float = 0.0
    key: str | None = None
    retries: int | None = None
    timeout_s: float | None = None
    deadline: float | None = None
    delay_s: float = 0.0
    backoff: Backoff | None = None


class Submission(NamedTuple):
    """One item of ``submit_many``: ``envelope`` is opaque to the plane."""

    id: str
    envelope: bytes
    config: RunConfig = RunConfig()
    parent: str | None = None


class Claimed(NamedTuple):
    """A leased invocation. ``(id, attempt)`` with the worker's id is the fence of every later verb.

    ``crashes``: earlier attempts that took their process or their worker down; they use up no ``retries``.
    """

    id: str
    envelope: bytes
    attempt: int
    queue: str
    timeout_s: float | None = None
    retries: int | None = None
    backoff: Backoff | None = None
    crashes: int = 0


class Finished(NamedTuple):
    """A worker's report of one attempt, for ``ack_many``.

    Without ``error`` the attempt succeeded with ``result``. With one it failed: ``retry`` asks for another
    attempt after ``delay_s`` seconds; ``crashed`` says that the attempt took its process down (so it counts
    towards ``max_attempts`` instead of ``retries``).
    """

    id: str
    attempt: int
    result: bytes | None = None
    error: ErrorInfo | None = None
    retry: bool = False
    delay_s: float = 0.0
    crashed: bool = False


class Outcome(NamedTuple):
    """How an invocation ended (``state`` is terminal); ``result`` is wire-packed."""

    id: str
    state: State
    result: bytes | None
    error: ErrorInfo | None
    attempt: int = 0


class Frame(NamedTuple):
    """One journal entry to append: ``data`` is an encoded frame, ``final`` ends the journal."""

    seq: int
    data: bytes
    final: bool = False


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """A queue as declared; ``kind_params`` holds for example ``{"temperature": 0.5}``."""

    name: str
    kind: QueueKind = "fifo"
    state: QueueState = "active"
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker as it registered itself. Times are seconds on the plane's clock (see ``Plane.now``)."""

    id: str
    queue: str
    host: str
    pid: int
    state: Literal["starting", "active", "draining"]
    concurrency: int
    started_at: float
    last_seen_at: float
    leased: int = 0
    idle_since: float | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueSignals:
    """One consistent snapshot of a queue for the elasticity controller.

    ``queued``: rows that could start now; ``delayed``: rows whose time has not come; ``leased``: claimed,
    not finished. ``oldest_age_s``: age of the oldest startable row. ``finished`` and ``mean_duration_s``
    cover attempts that ended successfully.
    """

    queue: str
    queued: int
    delayed: int
    leased: int
    oldest_age_s: float
    arrived: int
    finished: int
    mean_duration_s: float | None
    as_of: float
    revision: int


class Listener(Protocol):
    """A subscription to one topic of wake-ups. A wake-up may be spurious, never is one lost."""

    def fileno(self) -> int:
        """Give a descriptor that is readable when a wake-up waits (for ``select``), or -1 without one."""

    def wait(self, timeout: float) -> bool:
        """Block up to ``timeout`` seconds; True when woken. Clears what has been signalled."""

    def close(self) -> None:
        """Stop listening and free the descriptor."""


class Completions(Protocol):
    """A stream of outcomes of a growing set of invocations, each reported once, as they end."""

    def add(self, ids: Iterable[str]) -> None:
        """Watch these too; one that has already ended is reported by the next ``wait``."""

    def wait(self, timeout: float) -> list[Outcome]:
        """Give those that ended since the last call, waiting up to ``timeout`` seconds for the first."""

    def close(self) -> None:
        """Stop watching."""


@runtime_checkable
class Plane(Protocol):
    """What ``Queue``, ``run_worker`` and the command line need of a dispatch plane.

    Guarantees: one row per invocation; every transition is one guarded update; a terminal state never
    changes; each attempt is acknowledged at most once; counts come from the rows that are claimed.
    """

    local: bool
    """Whether producers and workers share one machine and user (then pickled functions are trusted)."""

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
        """Store one invocation and return its id (the earlier one's when ``key`` is known here).

        ``config`` carries the rest; ``key`` and ``priority`` given directly win over it.
        Raises ``QueueUnavailableError`` for a queue that takes no work, ``DispatchError`` when ``id``
        exists with other content.
        """

    def submit_many(self, queue: str, items: Sequence[Submission]) -> list[str]:
        """Store all or none, in order, in one transaction; the ids as ``submit`` would give them."""

    def cancel(self, inv_id: str) -> bool:
        """End a queued or running invocation as ``cancelled``; False when it had ended or is unknown."""

    def cancel_many(self, ids: Iterable[str]) -> set[str]:
        """End many as ``cancel`` does; the ids of those that this call ended."""

    def get(self, inv_id: str) -> dict[str, object] | None:
        """Give the invocation row (without envelope and result bytes), or None."""

    def result(self, inv_id: str, *, timeout: float = 30.0, poll: float = 0.02) -> bytes:
        """Wait for success and give the packed result.

        Raises ``TimeoutError`` (naming the state it is still in), ``InvocationFailedError``,
        ``InvocationCancelledError``, ``DispatchError`` for an unknown id.
        """

    def completions(self) -> Completions:
        """Open a stream of outcomes."""

    def count(self, queue: str, state: str = "queued") -> int:
        """Count the rows of a queue in one state; delayed ones are queued."""

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

    def renew(self, ids: Iterable[str], worker_id: str, *, lease_s: float = DEFAULT_LEASE_S) -> set[str]:
        """Extend the leases still held; the ids that are *no longer* held (cancelled, expired, taken)."""

    def release(self, ids: Iterable[str], worker_id: str) -> int:
        """Hand back claims that were never started: queued again at their place, no attempt used."""

    def ack(
        self, inv_id: str, worker_id: str, *, result: bytes | None = None, attempt: int | None = None
    ) -> None:
        """End a running attempt as succeeded. Raises ``FencedError`` when it is not this worker's any more."""

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

    def ack_many(self, worker_id: str, items: Sequence[Finished]) -> set[str]:
        """Report many attempts in one transaction; the ids that were fenced (nothing changed for them)."""

    # -- frames
    def journal_append(
        self,
        inv_id: str,
        seq: int | None,
        frame_bytes: bytes,
        *,
        final: bool = False,
    ) -> int:
        """Append one frame and return its seq; idempotent on (inv_id, seq); None takes the next seq."""

    def journal_append_many(
        self, inv_id: str, frames: Sequence[Frame], *, worker_id: str | None = None
    ) -> None:
        """Append in one transaction. With ``worker_id`` it is fenced: ``FencedError`` unless it holds the lease."""

    def journal_read(
        self, inv_id: str, *, since: int = -1, timeout: float = 30.0, poll: float = 0.02
    ) -> Iterator[tuple[int, bytes]]:
        """Yield ``(seq, frame)`` after ``since``, gapless and in order, until final or a terminal state.

        Raises ``TimeoutError`` when nothing new comes for ``timeout`` seconds.
        """

    def journal_trim(self, inv_id: str, *, keep_last: int = 0) -> int:
        """Drop all but the last frames; how many went. Rows and results are untouched."""

    # -- waiting
    def listen(self, topic: str) -> Listener:
        """Subscribe to ``work:<queue>`` (something became claimable, or was cancelled) or ``done``."""

    def next_due(self, queue: str) -> float | None:
        """Seconds until a delayed row or an expiring lease of this queue wants attention, or None."""

    def now(self) -> float:
        """Seconds on the plane's clock: steady under wall-clock steps, comparable between processes."""

    # -- queues and workers
    def declare_queue(self, record: QueueRecord) -> None:
        """Create the queue or change its kind; its lifecycle state is kept."""

    def set_queue_state(self, name: str, state: QueueState) -> None:
        """Move a queue through its lifecycle. Raises ``DispatchError`` when there is no such queue."""

    def queue_record(self, name: str) -> QueueRecord | None:
        """Give the declared queue, or None (an undeclared one works as an active fifo)."""

    def queues(self) -> list[QueueRecord]:
        """List declared queues and those that have rows, by name."""

    def invocations(
        self, *, queue: str | None = None, state: str | None = None, limit: int = 50
    ) -> list[dict[str, object]]:
        """List rows as ``get`` gives them, newest first."""

    def signals(self, queue: str) -> QueueSignals:
        """Give one consistent snapshot for the elasticity controller."""

    def register_worker(self, record: WorkerRecord) -> None:
        """Insert or replace a worker's record; also its heartbeat."""

    def remove_worker(self, worker_id: str) -> None:
        """Forget a worker that has ended."""

    def workers(self, queue: str | None = None) -> list[WorkerRecord]:
        """List registered workers with ``leased`` counted from the rows."""

    def purge(self, *, older_than_s: float) -> int:
        """Forget invocations (and their frames) that ended longer ago than this; how many went.

        A purged id may be used again: it then starts afresh, with attempt 1 and a deadline of its own.
        """

    def close(self) -> None:
        """Release everything; further calls raise ``DispatchError``."""
