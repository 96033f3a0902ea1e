"""A thread that waits on the server for a topic and makes a descriptor readable when something happened there."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.dispatch.http.requests import LONG_POLL_S
from dreamlake.lakeshore.errors import LakeshoreError

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.requests import Requests

_JOIN_S = 5.0


def ask(requests: Requests, topic: str, cursor: object, wait_s: float) -> tuple[object, bool]:
    """Wait for a topic to move past ``cursor`` (None: only ask where it is): ``(its cursor, whether it did)``."""
    asked = {"topics": {topic: cursor}, "timeout_s": wait_s}
    found = requests.post("producer/wait", asked, wait_s=wait_s)
    return found["cursors"].get(topic, cursor), topic in found["woken"]


class Position:
    """How far a listener has heard; shared with the thread that listens ahead."""

    def __init__(self, topic: str, cursor: object) -> None:
        self.topic = topic
        self.cursor = cursor
        self.changed = threading.Condition()

    def move(self, cursor: object) -> None:
        """Note that all up to ``cursor`` was heard."""
        with self.changed:
            self.cursor = cursor
            self.changed.notify_all()


class Bell:
    """Rings once, and again only after it was answered: nobody is told twice what he has not looked at yet."""

    def __init__(self, requests: Requests, position: Position) -> None:
        self._requests = requests
        self._position = position
        self._heard: object = None
        self._ringing = False
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._thread = threading.Thread(
            target=self._run, name=f"lakeshore-listen-{position.topic}", daemon=True
        )
        self._thread.start()

    def fileno(self) -> int:
        """Give the descriptor that is readable while it rings."""
        return self._receiver.fileno()

    def answer(self) -> bool:
        """Stop the ringing and take over how far was heard; False when it did not ring."""
        with self._position.changed:
            if not self._ringing:
                return False
            self._position.cursor = self._heard
            self._quiet()
            return True

    def hush(self) -> None:
        """Stop the ringing: its owner has asked the server himself. What is newer than that rings anew."""
        with self._position.changed:
            if self._ringing:
                self._quiet()

    def _quiet(self) -> None:
        self._ringing = False
        with contextlib.suppress(BlockingIOError):
            self._receiver.recv(16)
        self._position.changed.notify_all()

    def _run(self) -> None:
        position, closed = self._position, self._requests.closing
        patience: Patience | None = None
        while not closed.is_set():
            wait_s = LONG_POLL_S if patience is None else 0.0
            since = position.cursor
            try:
                cursor, woken = ask(self._requests, position.topic, since, wait_s)
            except LakeshoreError:  # its owner learns of it by requests of his own
                patience = patience or Patience(float("inf"))
                patience.pause(closed)
                continue
            if woken or patience is not None:  # what happened while the server was away is not known
                self._ring(since, cursor)
            patience = None

    def _ring(self, since: object, cursor: object) -> None:
        """Ring until answered, unless the owner has asked the server himself meanwhile."""
        position = self._position
        with position.changed:
            if position.cursor != since or self._requests.closed:
                return
            self._heard, self._ringing = cursor, True
            self._sender.send(b"!")
            position.changed.wait_for(lambda: not self._ringing or self._requests.closed)

    def close(self) -> None:
        """End the thread and free the descriptor."""
        self._requests.close()
        with self._position.changed:
            self._position.changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_S)
        self._receiver.close()
        self._sender.close()
