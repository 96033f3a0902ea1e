"""From journal entries to the values that a consumer iterates over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.errors import ErrorInfo, InvocationFailedError
from dreamlake.lakeshore.queue.outcomes import unknown_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dreamlake.lakeshore.dispatch.plane import Plane


def decode_stream(
    plane: Plane, inv_id: str, entries: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, Any]]:
    """Yield ``(seq, value)``; when the journal stops without END or ERROR, the invocation's row has the last word."""
    raise_unless_known(plane, inv_id)
    for seq, data in entries:
        frame = wire.WireFrame.decode(data)
        if frame.kind == wire.FrameKind.VALUE:
            yield seq, frame.body
        elif frame.terminal:
            raise_if_error(inv_id, frame)
            return
    raise_unless_succeeded(plane, inv_id)


def raise_if_error(inv_id: str, frame: wire.WireFrame) -> None:
    """Raise ``InvocationFailedError`` for an ERROR frame."""
    if frame.kind == wire.FrameKind.ERROR:
        raise InvocationFailedError(inv_id, ErrorInfo.from_dict(frame.body))


def raise_unless_known(plane: Plane, inv_id: str) -> None:
    """Raise ``DispatchError`` for an id that the plane does not have: its journal would stay silent for ever."""
    if plane.get(inv_id) is None:
        raise unknown_id(inv_id)


def raise_unless_succeeded(plane: Plane, inv_id: str) -> None:
    """Raise what the row of an ended invocation says: it failed, was cancelled, or is unknown."""
    row = plane.get(inv_id)
    if row is None:
        raise unknown_id(inv_id)
    if row["state"] in ("failed", "cancelled"):
        plane.result(inv_id, timeout=0)
