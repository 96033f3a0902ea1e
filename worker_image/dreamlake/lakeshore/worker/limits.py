"""What time asks of a slot: ends of time limits, and claims that wait behind a body longer than expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from dreamlake.lakeshore.dispatch.plane import Claimed
from dreamlake.lakeshore.worker.prefetch import HOLD_S

Finding: TypeAlias = Literal["timeout", "stuck"]

_BETWEEN_BODIES_S = 0.02


def inspect(running: tuple[Claimed, float] | None, held: Sequence[Claimed], now: float) -> Finding | None:
    """Say whether the running body is over its limit, or claims behind it should be handed back.

    ``running``: the claim whose body runs and when it started; ``held``: all claims of the slot in order;
    ``now`` and starts are on the monotonic clock, in seconds.
    """
    if running is None:
        return None
    job, started = running
    if job.timeout_s is not None and now - started >= job.timeout_s:
        return "timeout"
    if is_long(running, now) and len(held) > 1:
        return "stuck"
    return None


def is_long(running: tuple[Claimed, float] | None, now: float) -> bool:
    """Say whether a body runs for so long already that nothing should wait behind it."""
    return running is not None and now - running[1] > HOLD_S


def next_look_s(running: tuple[Claimed, float] | None, held: Sequence[Claimed], now: float) -> float:
    """Seconds until ``inspect`` may find something; infinity when nothing is to come."""
    timeouts = [job.timeout_s for job in held if job.timeout_s is not None]
    if running is None:
        return _BETWEEN_BODIES_S if timeouts else math.inf
    job, started = running
    limits = [math.inf]
    if len(held) > 1:
        limits.append(started + HOLD_S - now + 0.001)
    if job.timeout_s is not None:
        limits.append(started + job.timeout_s - now)
    elif timeouts:
        limits.append(min(timeouts))
    return max(0.0, min(limits))
