"""The task that Huey's consumer loads, on Redis or (``BENCH_HUEY=sqlite``) on SQLite."""

from __future__ import annotations

import os

from huey import RedisHuey, SqliteHuey
from timing import redis_url, scratch

if os.environ.get("BENCH_HUEY") == "sqlite":
    huey = SqliteHuey("peer", filename=str(scratch() / "huey.db"))
else:
    huey = RedisHuey("peer", url=redis_url(6))


@huey.task()
def add(a: int, b: int) -> int:
    return a + b
