"""The bodies that the benchmarks run on Lakeshore's workers."""

from __future__ import annotations

import time
from collections.abc import Iterator

import dreamlake.lakeshore as dls


@dls.udf(queue="bench")
def add(a: int, b: int = 3) -> int:
    return a + b


@dls.udf(queue="bench")
def frames(count: int) -> Iterator[int]:
    yield from range(count)


@dls.udf(queue="bench")
def moment() -> Iterator[float]:
    """Yield the steady clock's time, which all processes of a machine share on Linux."""
    yield time.monotonic()
