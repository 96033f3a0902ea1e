"""Outcomes as they come: each invocation's end has a number, and whoever waits reads on from the last one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.plane import Outcome
from dreamlake.lakeshore.dispatch.sqlite.finishing import decode_error
from dreamlake.lakeshore.dispatch.sqlite.store import Store

RECHECK_S = 2.0
"""Seconds after which a waiter looks at the database, woken or not."""
_CHUNK = 500
_PAGE = 5000
_T = TypeVar("_T")
_OUTCOME = "SELECT id, state, result, error, attempt FROM invocation"


class CompletionStream:
    """The ends of a growing set of invocations. For one thread at a time.

    Each is given once for as often as it is added: adding an id again after its end was given asks for it anew.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listener = store.wakeups.listen("done")
        self._watched: set[str] = set()
        self._ready: dict[str, Outcome] = {}
        self._seen = int(store.rows("SELECT value FROM counter WHERE name = 'finish'")[0][0])
        self._closed = False

    def add(self, ids: Iterable[str]) -> None:
        """Watch these too; one that has already ended is given by the next ``wait``."""
        new = [name for name in dict.fromkeys(ids) if name not in self._watched and name not in self._ready]
        self._watched.update(new)
        for chunk in _chunks(new, _CHUNK):
            marks = ",".join("?" * len(chunk))
            rows = self._store.rows(
                f"{_OUTCOME} WHERE ns = ? AND id IN ({marks}) AND finish_seq IS NOT NULL",
                (self._store.ns, *chunk),
            )
            self._take(rows)

    def wait(self, timeout: float) -> list[Outcome]:
        """Give those that ended since the last call, waiting up to ``timeout`` seconds for the first."""
        ends = time.monotonic() + timeout
        while True:
            if self._closed:
                raise verdicts.stream_closed()
            self._read_on()
            left = ends - time.monotonic()
            if self._ready or left <= 0:
                ready, self._ready = self._ready, {}
                return list(ready.values())
            self._listener.wait(min(left, RECHECK_S))

    def _read_on(self) -> None:
        """Read the numbers of all that ended, and the outcomes of those watched."""
        while self._watched:
            page = self._store.rows(
                "SELECT finish_seq, id, ns FROM invocation WHERE finish_seq > ? ORDER BY finish_seq LIMIT ?",
                (self._seen, _PAGE),
            )
            ours = [number for number, inv_id, ns in page if inv_id in self._watched and ns == self._store.ns]
            for chunk in _chunks(ours, _CHUNK):
                marks = ",".join("?" * len(chunk))
                self._take(self._store.rows(f"{_OUTCOME} WHERE finish_seq IN ({marks})", chunk))
            if page:
                self._seen = page[-1][0]
            if len(page) < _PAGE:
                return

    def _take(self, rows: Iterable[tuple[str, str, bytes | None, str | None, int]]) -> None:
        for inv_id, state, result, error, attempt in rows:
            self._watched.discard(inv_id)
            self._ready[inv_id] = Outcome(inv_id, state, result, decode_error(error), attempt)  # type: ignore[arg-type]

    def close(self) -> None:
        """Stop watching."""
        self._closed = True
        self._listener.close()


def _chunks(items: Sequence[_T], size: int) -> Iterator[list[_T]]:
    walk = iter(items)
    while chunk := list(islice(walk, size)):
        yield chunk
