"""Which frames a journal takes: worked out from what is known of it, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lakeshore_controlplane.faults import Refused
from lakeshore_controlplane.store.mongo.journals import Row


class Head(NamedTuple):
    """What is known of a journal beside its frames. ``next`` is one more than the last seq that it ever had."""

    next: int = 0
    floor: int = 0
    final: int | None = None


def plan(journal: str, head: Head, frames: Sequence[Row]) -> Head:
    """Work out the head after these frames. Raises ``Refused`` for one that cannot follow."""
    for seq, _data, final in frames:
        if seq < 0:
            raise Refused(f"journal {journal}: seq {seq} is below 0; the first frame has seq 0")
        if head.final is not None and seq > head.final:
            raise Refused(
                f"journal {journal} ended with frame {head.final}: frame {seq} cannot follow; use another journal"
            )
        if final and seq != head.final:
            if seq < head.next - 1:
                raise Refused(
                    f"journal {journal}: frame {seq} cannot be the last, frame {head.next - 1} is there"
                )
            head = head._replace(final=seq)
        if seq >= head.next:
            head = head._replace(next=seq + 1)
    return head


def floor_after_trim(head: Head, keep_last: int) -> int:
    """Work out below which seq frames go when the last ``keep_last`` are kept."""
    return max(head.floor, head.next - max(0, keep_last))
