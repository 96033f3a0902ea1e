"""What those who wait read of invocation rows: how they ended, in one find for many."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, cast

from lakeshore_controlplane.documents import TERMINAL_STATES, Invocation
from lakeshore_controlplane.store.mongo.database import Database, Document

_OUTCOME = dict.fromkeys(("state", "attempt", "resultBlob", "resultRef", "error", "finishedAt", "order"), 1)
_HOLDER = {"state": 1, "attempt": 1, "workerId": 1}


class OutcomeStore(Protocol):
    """What services need of rows that others end. Raises ``StoreUnavailable`` when the store does not answer."""

    async def holder(self, namespace: str, inv_id: str) -> Invocation | None:
        """Give state, attempt and worker of a row, or None."""

    def outcomes(self, namespace: str, ids: Sequence[str], *, ended_only: bool) -> AsyncIterator[Invocation]:
        """Give state, attempt, result and error of the rows there are, in any order; of all or of the ended ones."""


class OutcomeRows:
    """``OutcomeStore`` in the collection ``invocations``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("invocations")

    async def holder(self, namespace: str, inv_id: str) -> Invocation | None:
        """Give who holds a row. See ``OutcomeStore.holder``."""
        async with self._database.speaking():
            return cast(
                "Invocation | None", await self._rows.find_one({"_id": f"{namespace}/{inv_id}"}, _HOLDER)
            )

    async def outcomes(
        self, namespace: str, ids: Sequence[str], *, ended_only: bool
    ) -> AsyncIterator[Invocation]:
        """Give outcomes. See ``OutcomeStore.outcomes``."""
        query: Document = {"_id": {"$in": [f"{namespace}/{inv_id}" for inv_id in ids]}}
        if ended_only:
            query["state"] = {"$in": [*TERMINAL_STATES]}
        async with self._database.speaking():
            async for row in self._rows.find(query, _OUTCOME, batch_size=len(ids) + 1):
                yield cast("Invocation", row)
