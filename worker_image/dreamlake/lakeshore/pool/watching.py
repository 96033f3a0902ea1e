"""What wakes a pool: a change of a queue's revision, which a control plane waits for in the pool's place."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

from dreamlake.lakeshore.errors import LakeshoreError

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.administration import Administration
    from dreamlake.lakeshore.dispatch.plane import Listener, Plane

_WAIT_S = 20.0
"""Seconds that the control plane is asked to wait: less than proxies allow."""
_PACE_S = 0.15
"""Seconds between two wake-ups: a thousand jobs that end one after another are one reason to look."""
_AWAY_S = 0.5
"""Seconds between two tries while the control plane does not answer, or answers at once that nothing changed."""
_JOIN_S = 5.0


def watch(plane: Plane, queue: str) -> Listener:
    """Listen to what the size of a queue's pool depends on: on a control plane its revision, else its work."""
    if not plane.local:
        from dreamlake.lakeshore.dispatch.http.administration import administration  # noqa: PLC0415

        rest = administration(plane, patience_s=0.0)
        if rest is not None:
            return RevisionWatch(rest, queue)
    return plane.listen(f"work:{queue}")


class RevisionWatch:
    """A ``Listener`` whose descriptor is readable once the queue's revision has moved, until ``wait`` is called.

    One thread waits on the control plane. It asks again only after it was answered here, so what changes meanwhile
    is one more wake-up and none is lost.
    """

    def __init__(self, rest: Administration, queue: str) -> None:
        self._rest = rest
        self._queue = queue
        self._closed = threading.Event()
        self._answered = threading.Event()
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=f"lakeshore-watch-{queue}", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Give the descriptor that is readable while a wake-up waits."""
        return self._receiver.fileno()

    def wait(self, timeout: float) -> bool:
        """Block up to ``timeout`` seconds; True when woken."""
        self._receiver.settimeout(timeout)
        try:
            woken = bool(self._receiver.recv(16))
        except (BlockingIOError, TimeoutError):
            return False
        self._answered.set()
        return woken

    def close(self) -> None:
        """End the thread and free the descriptor."""
        self._closed.set()
        self._answered.set()
        self._rest.close()
        self._thread.join(_JOIN_S)
        self._receiver.close()
        self._sender.close()

    def _run(self) -> None:
        revision: int | None = None
        while not self._closed.is_set():
            asked = time.monotonic()
            try:
                seen = self._rest.signals_after(self._queue, revision, 0.0 if revision is None else _WAIT_S)
            except LakeshoreError:  # the pool learns of it by requests of its own
                self._closed.wait(_AWAY_S)
                continue
            if seen.revision == revision:
                self._closed.wait(max(0.0, _AWAY_S - (time.monotonic() - asked)))
                continue
            revision = seen.revision
            self._ring()
            self._closed.wait(max(0.0, _PACE_S - (time.monotonic() - asked)))

    def _ring(self) -> None:
        self._answered.clear()
        if not self._closed.is_set():
            with contextlib.suppress(OSError):
                self._sender.send(b"!")
            self._answered.wait()
