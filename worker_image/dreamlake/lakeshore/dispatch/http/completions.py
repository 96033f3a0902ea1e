"""Outcomes as they come, over HTTP: the server keeps the list of what is watched, and tells what ended of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S, LostAnswerError
from dreamlake.lakeshore.dispatch.http.watch import CHUNK, Watch
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.plane import Outcome

_RESTARTS = 3
"""Times that one wait tells everything anew because it meets another replica."""


class HttpCompletions:
    """The ends of a growing set of invocations. For one thread at a time.

    Each is given once for as often as it is added: adding an id again after its end was given asks for it anew.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests.apart(timeout_s=requests.timeout_s)  # one connection, and so one replica
        self._watch = Watch()
        self._closed = False
        self._restarts = 0
        self._losses: Patience | None = None

    def add(self, ids: Iterable[str]) -> None:
        """Watch these too; one that has already ended is given by the next ``wait``."""
        self._watch.add(ids)

    def wait(self, timeout: float) -> list[Outcome]:
        """Give those that ended since the last call, waiting up to ``timeout`` seconds for the first."""
        ends = time.monotonic() + timeout
        ready: list[Outcome] = []
        self._restarts = 0
        while True:
            if self._closed:
                raise verdicts.stream_closed()
            if not self._watch:
                return ready
            left = ends - time.monotonic()
            at_once = ready or len(self._watch.unsent) > CHUNK
            more = self._ask(0.0 if at_once else min(max(0.0, left), LONG_POLL_S), ready)
            if not more and (ready or left <= 0):
                return ready

    def _ask(self, wait_s: float, ready: list[Outcome]) -> bool:
        """Tell the server what is new and take what ended; whether there is more to tell or to take at once."""
        try:
            told = self._requests.run(self._watch.ask(wait_s))
        except LostAnswerError:
            self._losses = self._losses or Patience(self._requests.timeout_s)
            if not self._losses.pause(self._requests.closing):
                self._losses = None
                raise
            return True
        except DispatchError:
            if self._closed:
                raise verdicts.stream_closed() from None
            raise
        self._losses = None
        ready += told.ended
        self._restarts += told.anew
        return told.again and self._restarts <= _RESTARTS

    def close(self) -> None:
        """Stop watching; the server forgets a watch that nobody asks for."""
        self._closed = True
        self._requests.close()
