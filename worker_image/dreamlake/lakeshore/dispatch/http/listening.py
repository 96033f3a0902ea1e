"""Wake-ups over HTTP: the server's cursor of a topic, compared with the last one seen here."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch import verdicts
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S
from dreamlake.lakeshore.dispatch.http.ringing import Bell, Position, ask

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.requests import Requests


class HttpListener:
    """A subscription to one topic. It needs no thread to be exact; the first ``fileno`` starts one."""

    def __init__(self, requests: Requests, topic: str) -> None:
        self._requests = requests
        self._position = Position(topic, ask(requests, topic, None, 0.0)[0])
        self._bell: Bell | None = None
        self._owner = os.getpid()
        self._closed = False

    def fileno(self) -> int:
        """Give a descriptor that becomes readable when something happened (now and then when nothing has)."""
        self._check()
        if self._bell is None:
            self._bell = Bell(self._requests.apart(timeout_s=0.0), self._position)
        return self._bell.fileno()

    def wait(self, timeout: float) -> bool:
        """Block up to ``timeout`` seconds; True when woken."""
        ends = time.monotonic() + timeout
        while True:
            self._check()
            if self._bell is not None and self._bell.answer():
                return True
            position = self._position
            left = max(0.0, ends - time.monotonic())
            cursor, woken = ask(self._requests, position.topic, position.cursor, min(left, LONG_POLL_S))
            if woken:
                position.move(cursor)
                if self._bell is not None:
                    self._bell.hush()
                return True
            if left <= 0:
                return False

    def _check(self) -> None:
        if self._closed:
            raise verdicts.listener_closed()
        if self._owner != os.getpid():  # the thread, the lock and the descriptor are the parent's
            self._owner = os.getpid()
            self._position = Position(self._position.topic, self._position.cursor)
            self._bell = None

    def close(self) -> None:
        """Stop listening and free the descriptor."""
        self._closed = True
        bell, self._bell = self._bell, None
        if bell is not None and self._owner == os.getpid():
            bell.close()

    def __del__(self) -> None:
        if getattr(self, "_bell", None) is not None:
            self.close()
