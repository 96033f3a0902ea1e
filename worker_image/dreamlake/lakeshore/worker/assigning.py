"""How freshly claimed invocations are shared out among slots."""

from __future__ import annotations

from collections.abc import Sequence

from dreamlake.lakeshore.dispatch.plane import Claimed


def share_out(jobs: Sequence[Claimed], rooms: Sequence[int]) -> list[list[Claimed]]:
    """Deal ``jobs`` to slots that have ``rooms[i]`` places each, one at a time to each slot in turn.

    Dealing in turn lets every idle slot start one before any slot gets a second; the claim's order is kept
    within a slot. There are never more jobs than places.
    """
    shares: list[list[Claimed]] = [[] for _ in rooms]
    left = list(jobs)
    left.reverse()
    while left:
        dealt = False
        for share, room in zip(shares, rooms, strict=True):
            if left and len(share) < room:
                share.append(left.pop())
                dealt = True
        if not dealt:
            raise ValueError(f"{len(left)} claims more than there are places for")
    return shares
