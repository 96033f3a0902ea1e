"""The documents that the control plane stores, and their states. MongoDB holds them; services pass them on as they are.

All are namespaced but ``Namespace``. Times are seconds on the plane's clock. ``_id`` of an invocation is
``namespace/id``; that of a frame is ``namespace/journal/seq`` with the seq in twelve digits, so that a range of ids is
a range of frames.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

InvocationState: TypeAlias = Literal["queued", "running", "succeeded", "failed", "killed", "timeout"]
INVOCATION_STATES: tuple[InvocationState, ...] = (
    "queued",
    "running",
    "succeeded",
    "failed",
    "killed",
    "timeout",
)
TERMINAL_STATES: frozenset[str] = frozenset({"succeeded", "failed", "killed", "timeout"})

QueueKind: TypeAlias = Literal["fifo", "priority", "filo", "boltzmann"]
QUEUE_KINDS: tuple[QueueKind, ...] = ("fifo", "priority", "filo", "boltzmann")
QueueState: TypeAlias = Literal["active", "draining", "paused", "archived"]
QUEUE_STATES: tuple[QueueState, ...] = ("active", "draining", "paused", "archived")
WorkerState: TypeAlias = Literal["pending", "setting_up", "joining", "active", "draining", "gone"]
Scope: TypeAlias = Literal["producer", "worker", "admin", "operator"]
SCOPES: tuple[Scope, ...] = ("producer", "worker", "admin", "operator")


class ErrorInfo(TypedDict):
    """What a failed attempt left behind. Text that is no UTF-8 is stored as bytes (surrogates passed)."""

    type: str | bytes
    message: str | bytes
    traceback: NotRequired[str | bytes]


class Invocation(TypedDict):
    """One deferred call: queue entry, metadata and state machine in one row.

    ``order`` grows with submission (microseconds of plane time, strictly growing per replica). ``dueAt``: not before.
    ``deadlineAt``: not after (plane time). ``attempt`` counts claims that started; ``crashes`` those that took their
    worker down. While running: ``workerId``, ``leaseUntil``, ``claimId``.
    ``claimId`` stamps the batch of the last claim, release, expiry or cancel, and tells which rows it got.
    ``lastReport``: digest of the report that ended the last attempt, and the state it led to, so that the same
    report sent twice gets its first answer.
    """

    _id: str
    namespaceId: str
    state: InvocationState
    runConfig: dict[str, object]  # as submitted, with ``queue`` stamped on it
    priority: float
    order: int
    attempt: int
    crashes: int
    submittedAt: float
    dueAt: float
    argsBlob: NotRequired[bytes]
    argsRef: NotRequired[str]
    argsHash: bytes  # sha256 of queue and args: tells a repeated submission from a conflict
    rootInvocationId: str
    parentInvocationId: NotRequired[str]
    correlationId: NotRequired[str]
    idempotencyKey: NotRequired[str]
    codeRepoId: NotRequired[str]
    codeContext: NotRequired[dict[str, object]]
    function: NotRequired[dict[str, object]]
    deadlineAt: NotRequired[float]
    workerId: NotRequired[str | None]
    leaseUntil: NotRequired[float]
    claimId: NotRequired[str]
    startedAt: NotRequired[float]
    finishedAt: NotRequired[float]
    resultBlob: NotRequired[bytes | None]
    resultRef: NotRequired[str]
    error: NotRequired[ErrorInfo | None]
    lastReport: NotRequired[bytes]
    purgeBy: NotRequired[str]  # the replica that removes it, until ``purgeUntil``
    purgeUntil: NotRequired[float]


class Admission(TypedDict, total=False):
    """What a queue accepts: ``rate_limit`` is ``{rate, burst}`` per second."""

    max_depth: int
    on_full: Literal["reject", "block"]
    rate_limit: dict[str, float]
    deadline_cutoff_s: float


class Queue(TypedDict):
    """A named pipe of invocations. ``declared`` is False for one that only its first submission made."""

    _id: str  # namespace/name
    namespaceId: str
    name: str
    kind: QueueKind
    kindParams: dict[str, object]
    state: QueueState
    declared: bool
    admission: Admission
    elasticity: dict[str, object]
    retentionS: float
    legacyLeaseS: float
    createdAt: float


class Worker(TypedDict):
    """A worker process as it registered. ``stale`` is derived from ``lastSeenAt``, never stored."""

    _id: str  # namespace/id
    namespaceId: str
    state: WorkerState
    queues: list[str]
    host: str
    pid: int
    concurrency: int
    startedAt: float
    lastSeenAt: float
    idleSince: NotRequired[float]
    tags: list[str]
    cordoned: bool
    drainRequested: bool
    machineId: NotRequired[str]
    capabilities: NotRequired[dict[str, object]]
    runners: NotRequired[list[str]]


class Namespace(TypedDict):
    """The wall between tenants."""

    _id: str
    orgId: NotRequired[str]
    createdAt: float


class Token(TypedDict):
    """A bearer credential: only its sha256 is kept. ``namespaceId`` is ``*`` for all namespaces."""

    _id: str  # sha256 of the plaintext, in hex
    tokenId: str
    namespaceId: str
    name: str
    prefix: str
    scopes: list[Scope]
    createdAt: float
    expiresAt: NotRequired[float]
    revokedAt: NotRequired[float]


class CodeRepo(TypedDict):
    """A snapshot of a git tree: one for each (namespace, remote, commit)."""

    _id: str
    namespaceId: str
    remote: str
    commit: str
    dirty: bool
    size: int
    sha256: str
    blobKey: str
    uploadedAt: NotRequired[float]
    createdAt: float


class ElasticityEvent(TypedDict):
    """One decision of the elasticity controller, with its reason in words and what it saw."""

    namespaceId: str
    queue: str
    kind: Literal["scale_up", "scale_down", "tick_noop"]
    reason: str
    before: dict[str, object]
    after: dict[str, object]
    at: float
