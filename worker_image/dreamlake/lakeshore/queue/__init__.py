"""Queues: what producers submit to and consumers claim from, over any dispatch plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.queue.job import Job
from dreamlake.lakeshore.queue.synchronous import SyncQueue
from dreamlake.lakeshore.queue.topic import Topic

if TYPE_CHECKING:
    from dreamlake.lakeshore.queue.asynchronous import Queue

__all__ = ["Job", "Queue", "SyncQueue", "Topic"]


def __getattr__(name: str) -> Any:
    if name != "Queue":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dreamlake.lakeshore.queue.asynchronous import Queue  # noqa: PLC0415

    return Queue
