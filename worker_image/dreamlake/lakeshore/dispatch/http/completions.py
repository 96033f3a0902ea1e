"""Outcomes as they come, over HTTP: the server keeps the list of what is watched, and tells what ended of it."""

from __future__ import annotations

import secrets
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S, LostAnswerError
from dreamlake.lakeshore.dispatch.http.states import outcome_of
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.plane import Outcome

_CHUNK = 10_000
"""Ids that one request adds to the watch."""
_CHUNK_CHARS = 900_000
"""Characters of all of them: a body that carries no payload is at most 1 MiB."""
_RESTARTS = 3
"""Times that one wait tells everything anew because it meets another replica."""


class HttpCompletions:
    """The ends of a growing set of invocations. For one thread at a time.

    Each is given once for as often as it is added: adding an id again after its end was given asks for it anew.
    A replica that knows a watch by name has been told all of it: when another replica says that it does not know
    the name, or an answer is lost, a new name is taken and all is told again. ``ack`` is the number of the last
    answer that arrived, so that the server need not keep what it told.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests.apart(timeout_s=requests.timeout_s)  # one connection, and so one replica
        self._watched: dict[str, None] = {}  # a set, in the order of adding
        self._closed = False
        self._restarts = 0
        self._losses: Patience | None = None
        self._begin()

    def _begin(self) -> None:
        self._watch = secrets.token_urlsafe(12)
        self._known = False
        self._number: int | None = None
        self._unsent = dict.fromkeys(self._watched)

    def add(self, ids: Iterable[str]) -> None:
        """Watch these too; one that has already ended is given by the next ``wait``."""
        new = dict.fromkeys(name for name in ids if name not in self._watched)
        self._watched.update(new)
        self._unsent.update(new)

    def wait(self, timeout: float) -> list[Outcome]:
        """Give those that ended since the last call, waiting up to ``timeout`` seconds for the first."""
        ends = time.monotonic() + timeout
        ready: list[Outcome] = []
        self._restarts = 0
        while True:
            if self._closed:
                raise verdicts.stream_closed()
            if not self._watched:
                return ready
            left = ends - time.monotonic()
            at_once = ready or len(self._unsent) > _CHUNK
            more = self._ask(0.0 if at_once else min(max(0.0, left), LONG_POLL_S), ready)
            if not more and (ready or left <= 0):
                return ready

    def _ask(self, wait_s: float, ready: list[Outcome]) -> bool:
        """Tell the server what is new and take what ended; whether there is more to tell or to take at once."""
        sent = self._next_chunk()
        asked = {"ids": sent, "timeout_s": wait_s, "watch": self._watch, "ack": self._number}
        try:
            found = self._requests.post("producer/await-many", asked, wait_s=wait_s, repeat="unless_lost")
        except LostAnswerError:
            self._losses = self._losses or Patience(self._requests.timeout_s)
            if not self._losses.pause(self._requests.closing):
                self._losses = None
                raise
            self._begin()
            return True
        except DispatchError:
            if self._closed:
                raise verdicts.stream_closed() from None
            raise
        self._losses = None
        self._number = found.get("number")
        for name in sent:
            self._unsent.pop(name, None)
        for raw in found["ended"]:
            self._take(raw, ready)
        if self._known and found.get("watch") == "new":
            self._begin()
            self._restarts += 1
            return self._restarts <= _RESTARTS
        self._known = True
        return bool(self._unsent or found.get("more"))

    def _next_chunk(self) -> list[str]:
        chunk: list[str] = []
        size = 0
        for name in islice(self._unsent, _CHUNK):
            size += len(name)
            if size > _CHUNK_CHARS:
                break
            chunk.append(name)
        return chunk

    def _take(self, raw: dict[str, Any], ready: list[Outcome]) -> None:
        outcome = outcome_of(raw)
        if outcome.id in self._watched:  # else it is told again
            del self._watched[outcome.id]
            self._unsent.pop(outcome.id, None)
            ready.append(outcome)

    def close(self) -> None:
        """Stop watching; the server forgets a watch that nobody asks for."""
        self._closed = True
        self._requests.close()
