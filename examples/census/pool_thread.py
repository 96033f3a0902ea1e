"""The elastic pool of ``lakeshore up``, run beside the demo in a thread, with a record of what it did."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

from dreamlake.lakeshore.home import default_plane, home
from dreamlake.lakeshore.pool.elastic import ElasticPool
from dreamlake.lakeshore.pool.queue_file import read_queue_file
from dreamlake.lakeshore.pool.queue_pool import PoolView
from dreamlake.lakeshore.worker.stopping import StopSwitch


class PoolThread:
    """A context manager: the pool runs inside it and is drained at its end.

    ``samples``: rows ``(t_s, queued, leased, wanted, alive)``, about two a second. ``events``: what the pool
    decided, and why.
    """

    def __init__(self, queue_file: Path, *, lease_s: float) -> None:
        self.samples: list[tuple[float, int, int, int, int]] = []
        self.events: list[str] = []
        self.alive = 0
        self._wanted = 0
        self._began = time.monotonic()
        self._switch = StopSwitch()
        self._failure: BaseException | None = None
        self._pool = ElasticPool(
            default_plane(),
            read_queue_file(queue_file),
            home=home(),
            lease_s=lease_s,
            switch=self._switch,
            show=self._show,
        )
        self._thread = threading.Thread(target=self._run, name="pool")

    def __enter__(self) -> PoolThread:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._switch.request(at_least=1 if kind is None else 2)
        self._thread.join(timeout=60)
        self._switch.close()
        if self._failure is not None and error is None:
            raise self._failure

    def line(self) -> str:
        """Say how many workers there are."""
        return f"{self.alive} workers of {self._wanted} wanted"

    def _run(self) -> None:
        try:
            self._pool.run()
        except BaseException as exc:  # raised again in the demo's own thread
            self._failure = exc

    def _show(self, views: list[PoolView]) -> None:
        (view,) = views
        self.alive = view.phase_count("pending", "starting", "ready_idle", "ready_busy", "draining")
        self._wanted = view.decision.wanted
        now = time.monotonic() - self._began
        self.samples.append((now, view.signals.queued, view.signals.leased, self._wanted, self.alive))
        if view.event is not None:
            self.events.append(f"{now:6.1f} s  {view.event.kind}: {view.event.reason}")
