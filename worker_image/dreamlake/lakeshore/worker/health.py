"""The worker's health page: liveness, readiness and Prometheus metrics over plain HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.worker.counters import Counters

STALE_S = 60.0
"""A worker whose plane has not answered for so long is not alive: its loop is stuck or the plane is gone."""


class HealthServer:
    """Serves ``/healthz``, ``/readyz`` and ``/metrics`` of one worker from a thread of its own."""

    def __init__(self, counters: Counters, port: int, *, host: str = "0.0.0.0") -> None:  # noqa: S104 - probes
        page = _pages(counters)

        class Handler(BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                status, text = page(self.path)
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: object) -> None:
                """Probes are not worth a line each."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as exc:
            raise ConfigError(
                f"--health-port {port}: cannot listen there ({exc.strerror}); give another port"
            ) from exc
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="lakeshore-health", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that is served (chosen by the system when 0 was asked for)."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)


def _pages(counters: Counters) -> Callable[[str], tuple[int, str]]:
    def page(path: str) -> tuple[int, str]:
        age = counters.poll_age_s()
        if path == "/healthz":
            fresh = age <= STALE_S
            return (200 if fresh else 503), f"the plane answered {age:.1f} s ago\n"
        if path == "/readyz":
            if counters.draining:
                return 503, "draining\n"
            return (200, "ready\n") if counters.ready else (503, "starting\n")
        if path == "/metrics":
            return 200, _metrics(counters)
        return 404, "there are /healthz, /readyz and /metrics\n"

    return page


class _Collector:
    """Gives the counters to the Prometheus client at each scrape."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def collect(self) -> Iterator[Metric]:
        now = self._counters
        totals = (
            ("jobs_succeeded", "Bodies that returned.", now.succeeded),
            ("jobs_failed", "Bodies that raised or ran out of time.", now.failed),
            ("jobs_crashed", "Bodies that took their process down.", now.crashed),
            ("reports_fenced", "Reports refused because the lease was lost.", now.fenced),
            ("claims", "Invocations claimed.", now.claimed),
            ("claims_released", "Claims handed back unstarted.", now.released),
            ("busy_seconds", "Seconds spent in bodies.", now.busy_s),
        )
        for name, text, value in totals:
            yield CounterMetricFamily(f"lakeshore_worker_{name}", text, value=value)
        gauges = (
            ("last_poll_age_seconds", "Seconds since the plane last answered.", now.poll_age_s()),
            ("draining", "1 while the worker drains.", float(now.draining)),
        )
        for name, text, value in gauges:
            yield GaugeMetricFamily(f"lakeshore_worker_{name}", text, value=value)


def _metrics(counters: Counters) -> str:
    registry = CollectorRegistry()
    registry.register(_Collector(counters))
    return generate_latest(registry).decode()
