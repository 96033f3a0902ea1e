"""Extensions for ``decimal.Decimal`` and ``uuid.UUID``."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from dreamlake.lakeshore.wire.codec import Codec, add


def _decode_decimal(text: Any) -> Decimal:
    if not isinstance(text, str):
        raise TypeError("expected text")
    return Decimal(text)


# A UUID's ``is_safe`` says how the machine that made it made it, and is not part of its value.
add(Codec(21, Decimal, encode=str, decode=_decode_decimal))
add(Codec(22, UUID, encode=lambda value: value.bytes, decode=lambda raw: UUID(bytes=raw)))
