"""Bodies of the producer routes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from lakeshore_controlplane.api.bodies.fields import (
    Blob,
    Body,
    FreeMap,
    Ids,
    InvocationId,
    JournalId,
    Key,
    Number,
    QueueName,
    Seconds,
)
from lakeshore_controlplane.api.decoding import check_storable
from lakeshore_controlplane.documents import QueueState

MOST_ITEMS = 1000
_Short = Annotated[str, Field(max_length=512)]


class Backoff(Body):
    """Pause before attempt n+1: uniform in [0, min(cap_s, base_s * 2^(n-1))]."""

    base_s: Seconds = 0.5
    cap_s: Seconds = 60.0


class RunConfig(Body):
    """How an invocation is to be run. Fields that nobody knows are kept on the row."""

    model_config = Body.model_config | {"extra": "allow"}

    queue: QueueName | None = None
    priority: Any = 0.0  # the rule for odd ones is the service's
    key: Key | None = None
    retries: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    timeout_s: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None
    deadline: Number | None = None
    delay_s: Seconds = 0.0
    backoff: Backoff | None = None
    prefix: Annotated[str, Field(max_length=4096)] | None = None

    @model_validator(mode="after")
    def _storable(self) -> RunConfig:
        if self.model_fields_set:
            check_storable(self.model_extra or {})
            check_storable(self.priority)
        return self

    def to_row(self) -> dict[str, Any]:
        """Give what was set, unknown fields included."""
        return self.model_dump(exclude_none=True, exclude_unset=True)


class Submit(Body):
    """One submission, its arguments inline or by the ref of an uploaded payload.

    ``written_at``: Unix time as the clock has it that the deadline was read from; without it the server's own.
    """

    invocation_id: InvocationId
    queue: QueueName | None = None
    function: FreeMap | None = None
    args_blob: Blob | None = None
    args_ref: _Short | None = None
    run_config: RunConfig = Field(default_factory=RunConfig)
    code_context: FreeMap | None = None
    parent_invocation_id: InvocationId | None = None
    correlation_id: Key | None = None
    written_at: Number | None = None
    wait_s: Seconds = 0.0

    @model_validator(mode="after")
    def _one_of_args(self) -> Submit:
        if (self.args_blob is None) == (self.args_ref is None):
            raise ValueError("give args_blob or args_ref, and not both")
        return self


class SubmitMany(Body):
    """A batch; ``atomic``: all or none."""

    items: Annotated[list[Submit], Field(max_length=MOST_ITEMS)]
    atomic: bool = False
    wait_s: Seconds = 0.0


class Await(Body):
    """Wait for one end."""

    invocation_id: InvocationId
    timeout_s: Seconds = 60.0
    accept_result_ref: bool = False


class AwaitMany(Body):
    """Wait for the ends of many; with ``watch`` the ids are added to a watch of that name."""

    ids: Ids = Field(default_factory=list)
    timeout_s: Seconds = 0.0
    watch: Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")] | None = None
    ack: Annotated[int, Field(ge=0)] | None = None
    accept_result_ref: bool = False


class Cancel(Body):
    """End one (``invocation_id``) or many (``ids``)."""

    invocation_id: InvocationId | None = None
    ids: Ids | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Cancel:
        if (self.invocation_id is None) == (self.ids is None):
            raise ValueError("give invocation_id or ids, and not both")
        return self


class Count(Body):
    """Count rows of a queue in a state."""

    queue: QueueName
    state: _Short = "queued"


class Get(Body):
    """Ask for one row."""

    invocation_id: InvocationId


class JournalRead(Body):
    """Read on after ``since``, waiting for the first entry."""

    journal: JournalId
    since: Annotated[int, Field(ge=-1, le=1 << 53)] = -1
    timeout_s: Seconds = 0.0
    max_bytes: Annotated[int, Field(ge=1, le=32 << 20)] = 1 << 20


class JournalAppend(Body):
    """Append ``[seq | null, bytes, final]``; frames without seqs are appended once under one ``append_id``."""

    journal: JournalId
    frames: Annotated[list[Any], Field(max_length=10_000)]
    append_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class JournalTrim(Body):
    """Keep the last frames only."""

    journal: JournalId
    keep_last: Annotated[int, Field(ge=0, le=1 << 53)] = 0


class Wait(Body):
    """Wait until one of the topics moved past its cursor."""

    topics: Annotated[
        dict[JournalId, Annotated[str, Field(max_length=128)] | None], Field(min_length=1, max_length=256)
    ]
    timeout_s: Seconds = 0.0


class QueueDeclaration(Body):
    """A queue as it shall be; what is left out keeps its value, or gets its default."""

    kind: _Short = "fifo"
    kind_params: FreeMap = Field(default_factory=dict)
    admission: FreeMap | None = None
    elasticity: FreeMap | None = None
    retention_s: Seconds | None = None
    legacy_lease_s: Seconds | None = None


class QueueStateChange(Body):
    """Move a queue through its lifecycle."""

    state: QueueState | _Short


class Purge(Body):
    """Forget what ended longer ago than this."""

    older_than_s: Seconds


class AnnouncePayload(Body):
    """A payload to be uploaded."""

    size: Annotated[int, Field(ge=0, le=1 << 40)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class AnnounceCode(AnnouncePayload):
    """A snapshot of a git tree to be uploaded."""

    remote: Annotated[str, Field(max_length=2048)] = ""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]
    dirty: bool = False
