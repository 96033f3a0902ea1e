"""Frames per second of a streaming job, and how soon its first frame is seen."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import bench_jobs

from yardstick.figures import percentile
from yardstick.lake import Lake


@dataclass(slots=True)
class StreamFigures:
    """Frames/s from submit to the last frame read; milliseconds to the first frame, from the yield and from submit."""

    frames_per_s: list[float] = field(default_factory=list)
    yield_to_reader_ms: list[float] = field(default_factory=list)
    submit_to_reader_ms: list[float] = field(default_factory=list)


def stream_figures(
    opened: AbstractContextManager[Lake], *, frames: int, repeats: int, firsts: int
) -> StreamFigures:
    """Measure one producer and one reader. The latencies are the medians of ``firsts`` streams per repeat."""
    found = StreamFigures()
    with opened as open_lake:
        queue = open_lake.queue
        for _ in range(repeats):
            began = time.perf_counter()
            seen = sum(1 for _ in queue.stream(queue.submit(bench_jobs.frames, frames), timeout=60.0))
            found.frames_per_s.append(frames / (time.perf_counter() - began))
            if seen != frames:
                raise AssertionError(f"{seen} of {frames} frames arrived")
            yielded, submitted = [], []
            for _ in range(firsts):
                began = time.monotonic()
                for sent in queue.stream(queue.submit(bench_jobs.moment), timeout=30.0):
                    arrived = time.monotonic()
                    yielded.append((arrived - sent) * 1e3)
                    submitted.append((arrived - began) * 1e3)
            found.yield_to_reader_ms.append(percentile(yielded, 0.5))
            found.submit_to_reader_ms.append(percentile(submitted, 0.5))
    return found
