"""How long one claim takes with few rows queued and with many."""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dreamlake.lakeshore import Dispatch, RunConfig
from dreamlake.lakeshore.dispatch.plane import Submission
from yardstick.figures import percentile

Kind = Literal["fifo", "priority", "filo", "boltzmann"]
KINDS: tuple[Kind, ...] = ("fifo", "priority", "filo", "boltzmann")
_LEVELS = 10
_BATCH = 10_000
_ENVELOPE = b"x" * 200


@dataclass(slots=True)
class ClaimTimes:
    """Claims of one kind in milliseconds: p50 and p99 of each repeat, and the ratio of the two p99."""

    few_p50: list[float] = field(default_factory=list)
    few_p99: list[float] = field(default_factory=list)
    many_p50: list[float] = field(default_factory=list)
    many_p99: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Give p99 with many rows over p99 with few, repeat by repeat."""
        return [many / few for few, many in zip(self.few_p99, self.many_p99, strict=True)]


def claim_times(few: int, many: int, *, repeats: int, claims: int) -> dict[Kind, ClaimTimes]:
    """Time ``claims`` claims one by one, alternately in a queue of ``few`` rows and one of ``many``.

    The rows are spread over ten priorities and claims are handed back after each repeat. ``claims`` is at most
    a third of ``few``, so that the small queue stays filled; ``boltzmann``, which may count every row, makes a sixth.
    """
    if claims > few // 3:
        raise ValueError(f"{claims} claims would empty a queue of {few} rows")
    found = {kind: ClaimTimes() for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="lakeshore-bench-") as folder:
        small = Dispatch(Path(folder) / "few.sqlite")
        large = Dispatch(Path(folder) / "many.sqlite")
        try:
            _fill(small, few)
            _fill(large, many)
            for plane in (small, large):
                _timed(plane, "fifo", claims)  # the first claims read the file's pages
            for _ in range(repeats):
                for kind, times in found.items():
                    number = claims // 6 if kind == "boltzmann" else claims
                    _add(_timed(small, kind, number), times.few_p50, times.few_p99)
                    _add(_timed(large, kind, number), times.many_p50, times.many_p99)
        finally:
            small.close()
            large.close()
    return found


def _add(taken: list[float], p50: list[float], p99: list[float]) -> None:
    p50.append(percentile(taken, 0.5))
    p99.append(percentile(taken, 0.99))


def _fill(plane: Dispatch, rows: int) -> None:
    rng = random.Random(7)
    for begin in range(0, rows, _BATCH):
        numbers = range(begin, min(begin + _BATCH, rows))
        plane.submit_many("bench", [_row(i, float(rng.randrange(_LEVELS))) for i in numbers])


def _row(number: int, priority: float) -> Submission:
    return Submission(f"inv-{number:026d}", _ENVELOPE, RunConfig(priority=priority))


def _timed(plane: Dispatch, kind: Kind, claims: int) -> list[float]:
    taken, ids = [], []
    for _ in range(claims):
        began = time.perf_counter()
        claimed = plane.claim("bench", "bench-worker", kind=kind)
        taken.append((time.perf_counter() - began) * 1e3)
        if claimed is None:
            raise AssertionError("a claim found nothing in a filled queue")
        ids.append(claimed.id)
    plane.release(ids, "bench-worker")
    return taken
