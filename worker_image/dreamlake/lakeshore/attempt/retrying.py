"""Whether a failed attempt is tried again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Callable

from dreamlake.lakeshore.dispatch.plane import Backoff, Claimed
from dreamlake.lakeshore.errors import TransportError, WireError, WorkerError

_HOPELESS = (TransportError, WireError, WorkerError)
"""Errors that this worker's next attempt would meet again: the function itself cannot be had."""


def retries_left(job: Claimed, default_retries: int) -> bool:
    """Say whether this attempt, having failed, leaves another one; earlier crashes use up no retries.

    ``default_retries`` holds for an invocation that does not say.
    """
    return job.attempt - job.crashes <= (default_retries if job.retries is None else job.retries)


def may_retry(error: BaseException, job: Claimed, default_retries: int) -> bool:
    """Say whether it is worth another attempt that this one failed with ``error``."""
    return retries_left(job, default_retries) and not isinstance(error, _HOPELESS)


def pause_s(backoff: Backoff | None, attempt: int, draw: Callable[[], float] = random.random) -> float:
    """Seconds before the next attempt: exponential with full jitter.

    ``uniform(0, min(cap, base * 2**(attempt - 1)))``: of the usual schemes the one that spreads a crowd of
    failures best (M. Brooker, "Exponential backoff and jitter", 2015). ``draw`` gives a number in [0, 1).
    """
    chosen = backoff or Backoff()
    ceiling: float = min(chosen.cap_s, chosen.base_s * 2.0 ** min(attempt - 1, 60))
    return draw() * max(ceiling, 0.0)
