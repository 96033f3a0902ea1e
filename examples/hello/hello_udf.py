"""The first program of the tutorial."""

from __future__ import annotations

import dreamlake.lakeshore as dls


@dls.udf(queue="hello")
def add(a: int, b: int) -> int:
    """Add two numbers, on a worker."""
    return a + b


if __name__ == "__main__":
    inv = add.submit(2, 3)
    print("invocation:", inv)
    print("result:", dls.SyncQueue("hello").result(inv, timeout=30.0))
