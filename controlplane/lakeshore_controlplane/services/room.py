"""How much a queue takes in now, by its limits and what is known of it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from lakeshore_controlplane.faults import QueueFull, RateLimited, Refusal
from lakeshore_controlplane.store.mongo.admission import Book, Wish

_FULL_AGAIN_S = 1.0
"""Seconds after which a client that met a full queue may ask again."""
_SOON_S = 0.001
_ROUNDING_S = 1e-6
"""What sums of Unix times lose; guards are more lenient than plans, so that a plan is not refused by rounding."""
_MANY = 1 << 31


class Limits(NamedTuple):
    """A queue's admission, as far as it concerns room: ``rate`` in rows a second, at most ``burst`` at once."""

    max_depth: int | None = None
    rate: float | None = None
    burst: float = 1.0
    waits: bool = False

    @property
    def any(self) -> bool:
        """Whether there is anything to keep to."""
        return self.max_depth is not None or self.rate is not None

    @property
    def most_at_once(self) -> float:
        """The most rows that one reservation can ever get."""
        return min(
            math.inf if self.max_depth is None else self.max_depth,
            math.inf if self.rate is None else math.floor(self.burst),
        )


class Room(NamedTuple):
    """How many rows fit; ``paid_in_s``: seconds until the rate lets enough in (0: it is not the rate)."""

    rows: int
    paid_in_s: float = 0.0


def limits_of(admission: Mapping[str, Any]) -> Limits:
    """Read a queue's ``admission``, which was checked when it was declared."""
    rate_limit: Mapping[str, float] = admission.get("rate_limit") or {}
    rate = rate_limit.get("rate")
    max_depth = admission.get("max_depth")
    return Limits(
        max_depth=None if max_depth is None else int(max_depth),
        rate=None if rate is None else float(rate),
        burst=max(1.0, float(rate_limit.get("burst") or rate or 1.0)),
        waits=admission.get("on_full") == "block",
    )


def wish_of(limits: Limits, ids: tuple[str, ...], now: float) -> Wish:
    """Give the guarded update that takes room for these rows."""
    n = len(ids)
    if limits.rate is None:
        return Wish(ids, now, limits.max_depth, None, 0.0)
    latest = now + (limits.burst - n) / limits.rate + 2 * _ROUNDING_S if n <= limits.burst else -math.inf
    return Wish(ids, now, limits.max_depth, latest, n / limits.rate)


def room_in(limits: Limits, book: Book, now: float, least: int) -> Room:
    """Say how much fits if nobody else takes it first, for one who needs at least ``least``."""
    deep = math.inf if limits.max_depth is None else max(0, limits.max_depth - book.depth)
    if limits.rate is None or deep < least:
        return Room(int(min(deep, _MANY)))
    paid_ahead_s = max(0.0, book.paid_until - now)
    tokens = math.floor(min(limits.burst, limits.burst - (paid_ahead_s - _ROUNDING_S) * limits.rate))
    if tokens >= least:
        return Room(int(min(deep, tokens)))
    return Room(max(0, tokens), max(_SOON_S, paid_ahead_s - (limits.burst - least) / limits.rate))


def refusal_of(queue: str, limits: Limits, room: Room, n: int) -> Refusal:
    """Word the refusal of ``n`` rows, which do not fit in ``room``."""
    if n > 1 and n > limits.most_at_once:
        return _never(queue, limits, n)
    if room.paid_in_s > 0 or limits.max_depth is None:
        return RateLimited(
            f"queue {queue!r} takes {limits.rate:g} a second and has had them: "
            "submit more slowly, or raise its rate_limit",
            retry_after_s=max(_SOON_S, room.paid_in_s),
        )
    return QueueFull(
        f"queue {queue!r} is full (max_depth {limits.max_depth}): "
        "submit again later, start more workers, or raise its max_depth",
        retry_after_s=_FULL_AGAIN_S,
    )


def _never(queue: str, limits: Limits, n: int) -> Refusal:
    most = int(limits.most_at_once)
    if limits.max_depth == most:
        text = (
            f"{n} rows at once are more than queue {queue!r} holds (max_depth {most}): submit fewer at once"
        )
        return QueueFull(text, retry_after_s=_FULL_AGAIN_S)
    text = f"{n} rows at once are more than the burst of queue {queue!r} ({most}): submit fewer at once"
    return QueueFull(text, retry_after_s=_FULL_AGAIN_S)  # clients repeat what is rate limited, here in vain
