"""Gauges of queues and storage, read from the rows every now and then, not when somebody looks."""

from __future__ import annotations

from lakeshore_controlplane.metrics import Metrics
from lakeshore_controlplane.services.retention import Retention
from lakeshore_controlplane.services.signals import Signals
from lakeshore_controlplane.store.mongo.queues import QueueRows

_MOST_QUEUES = 1000


class Gauges:
    """Keeps the gauges fresh."""

    def __init__(
        self, *, queues: QueueRows, signals: Signals, retention: Retention, metrics: Metrics
    ) -> None:
        self._queues = queues
        self._signals = signals
        self._retention = retention
        self._metrics = metrics

    async def measure_queues(self) -> None:
        """Set depth and age of every queue; those that are gone disappear."""
        found = await self._queues.every(_MOST_QUEUES, "")
        self._metrics.queue_depth.clear()
        self._metrics.oldest_age.clear()
        for queue in found:
            namespace, name = queue["namespaceId"], queue["name"]
            signals = await self._signals.read(namespace, name)
            for state in ("queued", "delayed", "leased"):
                self._metrics.queue_depth.labels(namespace, name, state).set(float(str(signals[state])))
            self._metrics.oldest_age.labels(namespace, name).set(float(str(signals["oldest_age_s"])))

    async def measure_storage(self) -> None:
        """Set the bytes of each collection, where the server tells them."""
        for collection, size in (await self._retention.sizes()).items():
            if size.bytes is not None:
                self._metrics.storage_bytes.labels(collection).set(size.bytes)
