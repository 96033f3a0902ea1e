"""Planes for the tests of this folder, with a clock that the tests move."""

import pytest

from dreamlake.lakeshore.dispatch import Dispatch
from hand_clock import HandClock


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
