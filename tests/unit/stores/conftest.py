"""What the stores' tests share: a loop to run coroutines in."""

import asyncio

import pytest


@pytest.fixture
def runner():
    with asyncio.Runner() as one:
        yield one
