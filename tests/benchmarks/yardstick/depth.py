"""How long one submission and one claim over HTTP take in a queue of few rows and in one of many."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dreamlake.lakeshore import HttpDispatch
from dreamlake.lakeshore.dispatch.plane import Submission
from yardstick.figures import percentile

_BATCH = 1000
_ENVELOPE = b"x" * 200
Say = Callable[[str], None]


@dataclass(slots=True)
class DepthTimes:
    """p99 in milliseconds, repeat by repeat, and rows/s of the filling."""

    submit_few: list[float] = field(default_factory=list)
    submit_many: list[float] = field(default_factory=list)
    claim_few: list[float] = field(default_factory=list)
    claim_many: list[float] = field(default_factory=list)
    filled_per_s: list[float] = field(default_factory=list)

    @property
    def submit_ratios(self) -> list[float]:
        """Give p99 of submissions with many rows over that with few, repeat by repeat."""
        return [many / few for few, many in zip(self.submit_few, self.submit_many, strict=True)]

    @property
    def claim_ratios(self) -> list[float]:
        """Give p99 of claims with many rows over that with few, repeat by repeat."""
        return [many / few for few, many in zip(self.claim_few, self.claim_many, strict=True)]


def depth_times(url: str, few: int, many: int, *, repeats: int, calls: int, say: Say) -> DepthTimes:
    """Fill two queues, then time ``calls`` submissions and claims one by one, alternately in each.

    What is claimed ends at once, so that both queues keep their size.
    """
    found = DepthTimes()
    plane = HttpDispatch(url)
    try:
        _fill(plane, "few", few, say)
        began = time.perf_counter()
        _fill(plane, "many", many, say)
        found.filled_per_s.append(many / (time.perf_counter() - began))
        for queue in ("few", "many"):
            _timed(plane, queue, "warm", calls)
        for number in range(repeats):
            submit, claim = _timed(plane, "few", f"{number}", calls)
            found.submit_few.append(submit)
            found.claim_few.append(claim)
            submit, claim = _timed(plane, "many", f"{number}", calls)
            found.submit_many.append(submit)
            found.claim_many.append(claim)
    finally:
        plane.close()
    return found


def _fill(plane: HttpDispatch, queue: str, rows: int, say: Say) -> None:
    for begin in range(0, rows, _BATCH):
        numbers = range(begin, min(begin + _BATCH, rows))
        plane.submit_many(queue, [Submission(f"inv-{queue}-{i:020d}", _ENVELOPE) for i in numbers])
        if begin and begin % 200_000 == 0:
            say(f"queued {begin:,} of {rows:,} rows")


def _timed(plane: HttpDispatch, queue: str, mark: str, calls: int) -> tuple[float, float]:
    """Give the p99 of submissions and of claims in milliseconds."""
    submits, claims = [], []
    for number in range(calls):
        began = time.perf_counter()
        plane.submit(queue, _ENVELOPE, id=f"inv-{queue}-{mark}-{number:012d}")
        submitted = time.perf_counter()
        claimed = plane.claim(queue, "bench-worker")
        claims.append((time.perf_counter() - submitted) * 1e3)
        submits.append((submitted - began) * 1e3)
        if claimed is None:
            raise AssertionError("a claim found nothing in a filled queue")
        plane.ack(claimed.id, "bench-worker", result=b"", attempt=claimed.attempt)
    return percentile(submits, 0.99), percentile(claims, 0.99)
