"""The worker: claims invocations of one queue under leases and runs their bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dreamlake.lakeshore.worker.options import WorkerOptions
    from dreamlake.lakeshore.worker.running import run_worker, serve

__all__ = ["WorkerOptions", "run_worker", "serve"]


def __getattr__(name: str) -> object:
    # Lazy: the child process of a slot imports from this package and needs no supervisor.
    if name == "WorkerOptions":
        from dreamlake.lakeshore.worker.options import WorkerOptions  # noqa: PLC0415

        return WorkerOptions
    if name in {"run_worker", "serve"}:
        from dreamlake.lakeshore.worker import running  # noqa: PLC0415

        return getattr(running, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
