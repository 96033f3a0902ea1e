"""Lists of frames: ``[seq | null, bytes, final]`` each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lakeshore_controlplane.api.decoding import bytes_of
from lakeshore_controlplane.faults import BadRequest


class FrameItem(NamedTuple):
    """One frame to append; ``seq`` None takes the next one."""

    seq: int | None
    data: bytes
    final: bool


def read_frames(raw: Sequence[Any], *, numbered: bool) -> list[FrameItem]:
    """Read frames. Raises ``BadRequest`` with the place of the first wrong one."""
    return [_read_frame(item, number, numbered) for number, item in enumerate(raw)]


def _read_frame(item: Any, number: int, numbered: bool) -> FrameItem:
    if not isinstance(item, list | tuple) or len(item) not in {2, 3}:
        raise BadRequest(f"frames.{number}: use [seq, bytes, final]")
    seq, raw = item[0], item[1]
    final = item[2] if len(item) == 3 else False
    if (seq is None and numbered) or not (seq is None or type(seq) is int) or type(final) is not bool:
        raise BadRequest(f"frames.{number}: use [seq, bytes, final]")
    if seq is not None and seq >= 1 << 39:
        raise BadRequest(f"frames.{number}: seq {seq} is beyond what a journal can hold")
    try:
        data = bytes_of(raw)
    except ValueError:
        data = None
    if not isinstance(data, bytes):
        raise BadRequest(f"frames.{number}: its second part must be bytes")
    return FrameItem(seq, data, final)
