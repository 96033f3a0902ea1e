"""What a document server answers when it has no room left, as requests are told it."""

import asyncio

import pytest
from pymongo.errors import OperationFailure

from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.mongo.database import Database

PANIC = 'WiredTiger error: WtError { code: -31804, message: "WT_PANIC: WiredTiger library panic" }'


def speak(failure):
    async def scenario():
        database = Database("mongodb://127.0.0.1:1", "unused")
        try:
            async with database.speaking():
                raise failure
        finally:
            await database.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "failure", [OperationFailure(PANIC, 1), OperationFailure("out of disk space", 14031)]
)
def test_a_full_disk_is_a_store_that_is_away_and_says_what_to_do(failure):
    with pytest.raises(StoreUnavailable, match="make room on its disk, then start it again"):
        speak(failure)


def test_a_refusal_of_content_passes_through():
    with pytest.raises(OperationFailure, match="too large"):
        speak(OperationFailure("document too large", 17419))
