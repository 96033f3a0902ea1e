"""Waiting for the first of several bells."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lakeshore_controlplane.store.bells.port import Subscription


async def first_ring(heard: Sequence[Subscription], timeout_s: float) -> bool:
    """Wait up to ``timeout_s`` until one of them rings; False when none did."""
    if len(heard) == 1:
        return await heard[0].wait(timeout_s)
    tasks = [asyncio.ensure_future(bell.wait(timeout_s)) for bell in heard]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return any(task.result() for task in done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
