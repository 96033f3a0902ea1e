"""Kinds of fields that many bodies share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from lakeshore_controlplane.api.decoding import bytes_of, check_storable
from lakeshore_controlplane.names import (
    check_invocation,
    check_journal,
    check_key,
    check_queue,
    check_worker,
)


def _any_text(limit: int) -> Any:
    """Make a check for text that may hold what UTF-8 cannot (pydantic's own str refuses it)."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > limit:
            raise ValueError(f"use text of at most {limit} characters")
        return value

    return AfterValidator(check)


Blob = Annotated[bytes, BeforeValidator(bytes_of)]
"""Bytes; base64 text in JSON."""
InvocationId = Annotated[str, AfterValidator(check_invocation)]
QueueName = Annotated[str, AfterValidator(check_queue)]
WorkerId = Annotated[str, AfterValidator(check_worker)]
JournalId = Annotated[str, AfterValidator(check_journal)]
Key = Annotated[str, AfterValidator(check_key)]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
FreeMap = Annotated[dict[str, Any], AfterValidator(check_storable)]
Ids = Annotated[list[InvocationId], Field(max_length=10_000)]


class Body(BaseModel):
    """A body: no silent conversion of types; fields that nobody knows are ignored, so that clients may be newer."""

    model_config = ConfigDict(strict=True, extra="ignore", arbitrary_types_allowed=False)


class ErrorReport(Body):
    """What failed. Its texts come from programs and may hold anything."""

    type: Annotated[Any, _any_text(1024)] = "Error"
    message: Annotated[Any, _any_text(1 << 20)] = ""
    traceback: Annotated[Any, _any_text(4 << 20)] | None = None
