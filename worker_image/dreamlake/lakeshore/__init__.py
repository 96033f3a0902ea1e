"""Lakeshore: run Python functions on an elastic pool of workers.

>>> import dreamlake.lakeshore as dls
>>> @dls.udf(queue="hello")
... def add(a: int, b: int) -> int:
...     return a + b

The names below are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dreamlake.lakeshore import lifecycle
    from dreamlake.lakeshore.context.credentials import TemporaryCredentials
    from dreamlake.lakeshore.context.run import run
    from dreamlake.lakeshore.context.run_context import RunContext
    from dreamlake.lakeshore.context.scoping import scope
    from dreamlake.lakeshore.context.storage import Storage
    from dreamlake.lakeshore.dispatch import Dispatch, HttpDispatch
    from dreamlake.lakeshore.dispatch.plane import RunConfig
    from dreamlake.lakeshore.errors import DispatchError, TransportError, WorkerError
    from dreamlake.lakeshore.function.thunk import Thunk, thunk
    from dreamlake.lakeshore.function.udf import UDF, udf
    from dreamlake.lakeshore.queue.asynchronous import Queue
    from dreamlake.lakeshore.queue.job import Job
    from dreamlake.lakeshore.queue.synchronous import SyncQueue
    from dreamlake.lakeshore.queue.topic import Topic
    from dreamlake.lakeshore.worker import run_worker

    __version__: str

__all__ = [
    "UDF",
    "Dispatch",
    "DispatchError",
    "HttpDispatch",
    "Job",
    "Queue",
    "RunConfig",
    "RunContext",
    "Storage",
    "SyncQueue",
    "TemporaryCredentials",
    "Thunk",
    "Topic",
    "TransportError",
    "WorkerError",
    "lifecycle",
    "run",
    "run_worker",
    "scope",
    "thunk",
    "udf",
]

# Where each name lives, below this package. No module may share its name with one of them: importing a
# submodule binds it as an attribute here, which would then hide the name.
_HOMES = {
    "UDF": "function.udf",
    "Dispatch": "dispatch",
    "DispatchError": "errors",
    "HttpDispatch": "dispatch",
    "Job": "queue.job",
    "Queue": "queue.asynchronous",
    "RunConfig": "dispatch.plane",
    "RunContext": "context.run_context",
    "Storage": "context.storage",
    "SyncQueue": "queue.synchronous",
    "TemporaryCredentials": "context.credentials",
    "Thunk": "function.thunk",
    "Topic": "queue.topic",
    "TransportError": "errors",
    "WorkerError": "errors",
    "run": "context.run",
    "run_worker": "worker",
    "scope": "context.scoping",
    "thunk": "function.thunk",
    "udf": "function.udf",
}


def __getattr__(name: str) -> Any:
    if name == "lifecycle":
        return import_module(f"{__name__}.lifecycle")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - costs more than all the rest of this module

        found: Any = version("lakeshore-kube")
    elif name in _HOMES:
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
