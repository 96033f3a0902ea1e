"""How long the elasticity engine's simulator takes for many jobs.

``python -m yardstick.simulating JOBS`` does it in a process of its own and prints the seconds, so that one
which is too slow can be ended.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time

_LIMIT_S = 120
_PER_S = 20.0
_DURATION_S = 10.0


def simulation_s(jobs: int) -> float:
    """Give the seconds for ``jobs`` jobs under ``fully_elastic``, without making the trace.

    They come at random, 20 per second, and run 10 s on average: some 200 workers' worth.
    Raises ``RuntimeError`` with the simulator's error, ``TimeoutError`` after two minutes.
    """
    command = [sys.executable, "-m", "yardstick.simulating", str(jobs)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"more than {_LIMIT_S} s") from None
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no error was printed"])[-1])
    return float(done.stdout)


def _main(jobs: int) -> None:
    from lakeshore_elasticity.policies import FullyElastic
    from lakeshore_elasticity.simulator import Trace, simulate

    rng = random.Random(7)
    rows, now = [], 0.0
    for _ in range(jobs):
        now += rng.expovariate(_PER_S)
        rows.append((now, rng.uniform(0.5, 1.5) * _DURATION_S))
    trace = Trace.of(rows)
    began = time.perf_counter()
    found = simulate(FullyElastic(), trace, start_delay=5.0)
    taken = time.perf_counter() - began
    if found.runs[0].unfinished:
        raise AssertionError(f"{found.runs[0].unfinished} jobs never ran")
    print(taken)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
