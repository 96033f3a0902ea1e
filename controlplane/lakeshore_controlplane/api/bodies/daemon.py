"""Bodies of the daemon routes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from lakeshore_controlplane.api.bodies.fields import (
    Blob,
    Body,
    ErrorReport,
    FreeMap,
    Ids,
    InvocationId,
    Key,
    Number,
    QueueName,
    Seconds,
    WorkerId,
)

_Short = Annotated[str, Field(max_length=512)]
_Lease = Annotated[float, Field(allow_inf_nan=True)]  # the service says what is wrong with odd ones
_ClaimId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_Tags = Annotated[list[_Short], Field(max_length=256)]


class Hello(Body):
    """A worker's record; also its heartbeat."""

    worker_id: WorkerId
    queues: Annotated[list[QueueName], Field(max_length=256)] = Field(default_factory=list)
    host: _Short = ""
    pid: Annotated[int, Field(ge=0, le=1 << 32)] = 0
    state: Literal["starting", "active", "draining"] = "starting"
    concurrency: Annotated[int, Field(ge=1, le=100_000)] = 1
    started_at: Number | None = None
    tags: _Tags = Field(default_factory=list)
    machine_id: _Short | None = None
    capabilities: FreeMap | None = None
    runners: _Tags | None = None


class Goodbye(Body):
    """A worker that has ended."""

    worker_id: WorkerId


class AckItem(Body):
    """The end of one attempt."""

    invocation_id: InvocationId
    attempt: Annotated[int, Field(ge=0, le=1 << 31)] | None = None
    state: Literal["succeeded", "failed", "killed", "timeout"]
    result_blob: Blob | None = None
    result_ref: _Short | None = None
    error: ErrorReport | Annotated[str, Field(max_length=1 << 20)] | None = None
    retry: bool = False
    delay_s: Seconds = 0.0
    crashed: bool = False
    report_id: Annotated[str, Field(max_length=64)] | None = None


class Ack(AckItem):
    """One end, by the worker that it names (older clients leave it out)."""

    worker_id: WorkerId | None = None


class AckMany(Body):
    """Many ends."""

    worker_id: WorkerId
    items: Annotated[list[AckItem], Field(max_length=10_000)]


class Poll(Body):
    """Bring ends, take work. ``claim_id``: random for each poll, the same when it is sent again with ``again``."""

    worker_id: WorkerId
    queue: QueueName | None = None
    queues: Annotated[list[QueueName], Field(max_length=256)] | None = None
    timeout_s: Seconds = 0.0
    max: Annotated[int, Field(ge=0, le=1000)] = 1
    lease_s: _Lease | None = None
    kind: _Short | None = None
    temperature: _Lease | None = None
    acks: Annotated[list[AckItem], Field(max_length=10_000)] = Field(default_factory=list)
    claim_id: _ClaimId | None = None
    again: bool = False

    def queue_names(self) -> list[str]:
        """The queues to take from, in turn; none named: the default one."""
        named = self.queues if self.queues is not None else [self.queue or "default"]
        return named or ["default"]


class Renew(Body):
    """Extend leases."""

    worker_id: WorkerId
    ids: Ids
    lease_s: _Lease = 30.0


class Release(Body):
    """Hand back claims that were not started."""

    worker_id: WorkerId
    ids: Ids


class ResultChunk(Body):
    """One frame (``seq``, ``bytes``, ``final``) or many (``frames``)."""

    invocation_id: InvocationId
    worker_id: WorkerId | None = None
    seq: int | None = None
    bytes: Blob | None = None
    final: bool = False
    frames: Annotated[list[Any], Field(max_length=10_000)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> ResultChunk:
        if (self.frames is None) == (self.seq is None or self.bytes is None):
            raise ValueError("give seq and bytes, or frames")
        return self


class Event(Body):
    """A line for the queue's log."""

    invocation_id: InvocationId | None = None
    queue: QueueName | None = None
    worker_id: WorkerId | None = None
    kind: Key
    data: FreeMap | None = None
