"""Counters for Prometheus. Labels are route patterns and queue names, never ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """One replica's metrics, in a registry of their own, so that several replicas can live in one test process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "lakeshore_request_seconds",
            "Time to answer, long polls included, by route and status",
            ("route", "status"),
            buckets=_LATENCIES,
            registry=self.registry,
        )
        self.queue_depth = self._gauge(
            "lakeshore_queue_depth", "Rows by state", ("namespace", "queue", "state")
        )
        self.oldest_age = self._gauge(
            "lakeshore_queue_oldest_age_seconds",
            "Age of the oldest row that could start",
            ("namespace", "queue"),
        )
        self.storage_bytes = self._gauge(
            "lakeshore_storage_bytes", "Bytes stored, by collection", ("collection",)
        )
        self.open_waits = self._gauge("lakeshore_open_requests", "Requests in progress, long polls included")

    def count(self, read: Callable[[], Mapping[str, float]]) -> None:
        """Publish what ``read`` gives (name to count since the start) as ``lakeshore_<name>_total``."""
        self.registry.register(_Counts(read))

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def render(self) -> bytes:
        """Give the text format."""
        return generate_latest(self.registry)


class _Counts(Collector):
    """Counters that live elsewhere as plain integers, read when somebody looks."""

    def __init__(self, read: Callable[[], Mapping[str, float]]) -> None:
        self._read = read

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Give each as a counter."""
        for name, value in self._read().items():
            yield CounterMetricFamily(f"lakeshore_{name}", name.replace("_", " "), value=value)
