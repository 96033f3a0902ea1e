"""What was leased by this replica lately: a report of it needs no look at its row first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from lakeshore_controlplane.documents import Invocation

_KEPT = 20_000
_BODIES = ("argsBlob", "resultBlob", "codeContext", "function")


class Holdings:
    """Brief rows as they were when they were leased. Only hints: what is done with them must be guarded by the row."""

    def __init__(self, *, kept: int = _KEPT) -> None:
        """Keep at most ``kept`` rows, the latest."""
        self._kept = kept
        self._rows: OrderedDict[str, Invocation] = OrderedDict()

    def add(self, rows: Iterable[Invocation]) -> None:
        """Remember leased rows, without their bodies."""
        for row in rows:
            self._rows[row["_id"]] = {  # type: ignore[assignment]
                name: value for name, value in row.items() if name not in _BODIES
            }
            self._rows.move_to_end(row["_id"])
        while len(self._rows) > self._kept:
            self._rows.popitem(last=False)

    def take(self, key: str) -> Invocation | None:
        """Give a row and forget it."""
        return self._rows.pop(key, None)
