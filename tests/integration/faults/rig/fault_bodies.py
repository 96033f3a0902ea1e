"""Functions that the workers under test run; imported by them by name."""

import time
from pathlib import Path

from dreamlake.lakeshore import run


def note(path, text):
    """Leave a line for the test to see; one write, so that lines of several processes do not mix."""
    with Path(path).open("a") as file:
        file.write(f"{text}\n")


def double(x, path=None, pause=0.0):
    """Say which attempt of which job runs here."""
    if path:
        note(path, f"{run.invocation_id} {run.attempt}")
    time.sleep(pause)
    return 2 * x


def count_up(n, pause=0.0, path=None):
    """Yield 0 to n - 1, ``pause`` seconds apart."""
    if path:
        note(path, f"{run.invocation_id} {run.attempt}")
    for number in range(n):
        time.sleep(pause)
        yield number


def blocks(n, size, pause=0.0):
    """Yield n blocks of ``size`` bytes, each unlike the others."""
    for number in range(n):
        time.sleep(pause)
        yield number.to_bytes(4, "big") * (size // 4)


def echo(data):
    return data


def until_released(path, gate):
    """Run until the file ``gate`` is there."""
    note(path, f"{run.invocation_id} {run.attempt}")
    ends = time.monotonic() + 60
    while not Path(gate).exists():
        assert time.monotonic() < ends, "the test never opened the gate"
        time.sleep(0.01)
    return run.attempt
