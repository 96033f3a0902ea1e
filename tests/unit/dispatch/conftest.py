"""Planes for the tests of this folder, with a clock that the tests move."""

import pytest

from dreamlake.lakeshore.dispatch import Dispatch


class HandClock:
    def __init__(self):
        self.since_boot = 1000.0
        self.wall_time = 1_800_000_000.0
        self.boot_name = "first-boot"
        self.slept = 0.0

    def steady(self):
        return self.since_boot

    def awake(self):
        return self.since_boot - self.slept

    def wall(self):
        return self.wall_time

    def boot(self):
        return self.boot_name

    def advance(self, seconds):
        self.since_boot += seconds
        self.wall_time += seconds

    def sleep(self, seconds):
        """Let the machine sleep, as a laptop with its lid closed."""
        self.advance(seconds)
        self.slept += seconds

    def reboot(self, name="second-boot"):
        self.since_boot = 5.0
        self.slept = 0.0
        self.boot_name = name


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dispatch.sqlite"


@pytest.fixture
def open_plane(path, clock):
    """``open_plane(**options)``: one more connection to the same file."""
    opened = []

    def open_plane(**options):
        opened.append(Dispatch(path, **{"_clock": clock, **options}))
        return opened[-1]

    yield open_plane
    for plane in opened:
        plane.close()


@pytest.fixture
def plane(open_plane):
    return open_plane()
