"""Functions that the workers under test run; imported by them by name."""

import asyncio
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from dreamlake.lakeshore import lifecycle, run


def note(path, text):
    """Leave a line for the test to see; one write, so that lines of several processes do not mix."""
    with Path(path).open("a") as file:
        file.write(f"{text}\n")


def add(a, b):
    return a + b


def whoami():
    return os.getpid()


def attempt():
    return run.attempt


def sleep(seconds, path=None):
    if path:
        note(path, f"began {run.attempt} {os.getpid()}")
    time.sleep(seconds)
    if path:
        note(path, f"ended {run.attempt} {os.getpid()}")
    return run.attempt


def until_released(path, gate):
    """Run until the file ``gate`` is there."""
    note(path, f"began {run.attempt} {os.getpid()}")
    ends = time.monotonic() + 60
    while not Path(gate).exists():
        assert time.monotonic() < ends, "the test never opened the gate"
        time.sleep(0.01)
    return run.attempt


def hold_the_gil(seconds):
    """Sleep in C without giving the GIL back."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    return run.attempt


def count_in_c(n):
    return sum(range(n))


def segfault():
    ctypes.string_at(0)


def exit_with(status):
    os._exit(status)


def die_by(number):
    os.kill(os.getpid(), number)
    time.sleep(60)


def die_until_attempt(last, path):
    note(path, f"attempt {run.attempt}")
    if run.attempt < last:
        os.kill(os.getpid(), signal.SIGKILL)
    return run.attempt


def fork_a_sleeper_and_die(path):
    """Leave a process behind that has every descriptor of this one."""
    child = os.fork()
    if child == 0:
        time.sleep(120)
        os._exit(0)
    note(path, str(child))
    os._exit(3)


def fail_until_attempt(last, path=None):
    if path:
        note(path, f"{run.attempt} {time.monotonic()}")
    if run.attempt < last:
        raise RuntimeError(f"not yet: attempt {run.attempt}")
    return run.attempt


class OddError(Exception):
    """Cannot be made from its args, nor pickled."""

    def __init__(self, code, *, detail):
        super().__init__(f"code {code}: {detail}")
        self.detail = detail
        self.lock = open(os.devnull)  # noqa: SIM115, PTH123 - unpicklable on purpose


class MuteError(Exception):
    def __str__(self):
        raise ValueError("no text")


def raise_odd():
    raise OddError(7, detail="wrong wheel")


def raise_mute():
    raise MuteError


def raise_system_exit():
    sys.exit("leaving")


def return_unpackable():
    return object()


def stream(n, pause=0.0, path=None):
    for i in range(n):
        if path:
            note(path, f"yield {run.attempt} {i}")
        time.sleep(pause)
        yield i


def stream_exception_object():
    yield "before"
    yield ValueError("a value, not a failure")


def stream_and_raise(n):
    yield from range(n)
    raise KeyError("midway")


def stream_until_closed(path):
    try:
        note(path, "began")
        while True:
            time.sleep(0.02)
            yield "tick"
    finally:
        note(path, "closed")


async def async_stream_until_closed(path):
    try:
        note(path, "began")
        while True:
            await asyncio.sleep(0.02)
            yield "tick"
    finally:
        note(path, "closed")


async def async_stream(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i * i


async def async_add(a, b):
    await asyncio.sleep(0)
    return a + b


def say(text, lines=1):
    for i in range(lines):
        print(f"{text} {i}")
    print("and an error", file=sys.stderr)
    print("unfinished", end="")
    return lines


def read_key(key):
    return run.read(key).read_text()


def note_shutdown(path):
    lifecycle.on_shutdown(lambda: note(path, "shut down"))


def big_result(size):
    return b"x" * size


def note_and_add(path, value):
    note(path, str(value))
    return value


def attempt_of(_item):
    return run.attempt


def sleep_if_first(item):
    number, path = item
    note(path, str(number))
    if number == 0:
        time.sleep(0.09)
    return number


def register_failing_setup():
    @lifecycle.on_run_setup
    def load():
        raise OSError("no model here")


def stream_blocks(n, size, path):
    for i in range(n):
        note(path, str(i))
        yield b"x" * size


def sleep_a_little(item):
    time.sleep(0.01)
    return item
