"""A list of invocations that the server keeps, so that it tells what ended of all without being told all again."""

from __future__ import annotations

import secrets
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from dreamlake.lakeshore.dispatch.http.payloads import outcome_with_result
from dreamlake.lakeshore.dispatch.http.steps import Ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dreamlake.lakeshore.dispatch.http.steps import Steps
    from dreamlake.lakeshore.dispatch.plane import Outcome

CHUNK = 10_000
"""Ids that one request adds to the watch."""
_CHUNK_CHARS = 900_000
"""Characters of all of them: a body that carries no payload is at most 1 MiB."""


class Told(NamedTuple):
    """What an answer brought. ``again``: there is more to tell or to take at once. ``anew``: all is told again."""

    ended: list[Outcome]
    again: bool = False
    anew: bool = False


class Watch:
    """What is watched, and what of it the server knows.

    Each end is given once for as often as its id is added. A replica that knows a watch by name has been told all of
    it: when another replica says that it does not know the name, or an answer is lost, a new name is taken and all is
    told again. ``ack`` is the number of the last answer that arrived, so that the server need not keep what it told.
    """

    def __init__(self) -> None:
        self._watched: dict[str, None] = {}  # a set, in the order of adding
        self.begin()

    def begin(self) -> None:
        """Take a new name, and have all to tell."""
        self.name = secrets.token_urlsafe(12)
        self.is_known = False
        self._number: int | None = None
        self.unsent = dict.fromkeys(self._watched)

    def __len__(self) -> int:
        return len(self._watched)

    def add(self, ids: Iterable[str]) -> None:
        """Watch these too."""
        new = dict.fromkeys(name for name in ids if name not in self._watched)
        self._watched.update(new)
        self.unsent.update(new)

    def drop(self, inv_id: str) -> None:
        """Want to hear of this one no more; the server may tell of it all the same."""
        self._watched.pop(inv_id, None)
        self.unsent.pop(inv_id, None)

    def ask(self, wait_s: float) -> Steps[Told]:
        """Tell the server what is new, and take what ended, waiting up to ``wait_s`` seconds for the first.

        Whatever goes wrong, all is told again with the next one.
        """
        name, fresh, sent = self.name, not self.is_known, self._next_chunk()
        asked = {
            "ids": sent,
            "timeout_s": wait_s,
            "watch": name,
            "ack": self._number,
            "accept_result_ref": True,
        }
        for inv_id in sent:
            self.unsent.pop(inv_id, None)
        try:
            found = yield Ask("producer/await-many", asked, wait_s, "unless_lost")
            ended = yield from self._take(found["ended"])
        except BaseException:
            if name == self.name:
                self.begin()
            raise
        if name != self.name:  # it began anew meanwhile
            return Told(ended, again=True)
        if not fresh and found.get("watch") == "new":
            self.begin()
            return Told(ended, again=True, anew=True)
        self.is_known = True
        number = found.get("number")
        if number is not None:
            self._number = max(number, self._number or 0)
        return Told(ended, again=bool(self.unsent or found.get("more")))

    def _take(self, told: Iterable[Mapping[str, Any]]) -> Steps[list[Outcome]]:
        """Read what is still watched; the rest was told twice, or is wanted no more."""
        ended: dict[str, Outcome] = {}
        for raw in told:
            inv_id = str(raw["invocation_id"])
            if inv_id in self._watched and inv_id not in ended:
                ended[inv_id] = yield from outcome_with_result(raw)
        for inv_id in ended:
            self.drop(inv_id)
        return [*ended.values()]

    def _next_chunk(self) -> list[str]:
        chunk: list[str] = []
        size = 0
        for name in islice(self.unsent, CHUNK):
            size += len(name)
            if size > _CHUNK_CHARS:
                break
            chunk.append(name)
        return chunk
