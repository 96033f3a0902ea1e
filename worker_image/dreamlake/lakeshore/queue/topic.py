"""``Topic``: messages that every reader sees, in one order, kept in a frame journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.queue.base import BaseQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dreamlake.lakeshore.dispatch.plane import Plane

DEFAULT_QUEUE = "default"


class Topic:
    """A named journal: ``Topic(name, dispatch=None)``, or ``SyncQueue.topic(name)`` for one of a queue.

    Whoever opens the same name on the same plane, in any process and at any time, reads the same messages,
    numbered from 0. Reading takes nothing away; ``since`` is the number after which to go on.
    """

    def __init__(self, name: str, dispatch: Plane | None = None, *, queue: str = DEFAULT_QUEUE) -> None:
        if not isinstance(name, str) or not name or len(name) > 255 or "\0" in name:
            raise ConfigError(
                f"topic name {name!r}: use a str of 1 to 255 characters, for example 'progress'"
            )
        self.name = name
        self._queue = BaseQueue(queue, dispatch=dispatch)

    def __repr__(self) -> str:
        return f"Topic({self.name!r}, queue={self._queue.name!r})"

    @property
    def journal_id(self) -> str:
        """The id of the journal that holds the messages."""
        return f"topic:{self._queue.name}:{self.name}"

    def post(self, value: object, *, final: bool = False) -> int:
        """Append a message, anything the wire takes, and give its number. ``final`` ends the topic."""
        # The plane numbers the entry; what the frame itself says is not read.
        frame = wire.WireFrame(wire.FrameKind.VALUE, 0, value).encode()
        return self._queue.dispatch.journal_append(self.journal_id, None, frame, final=final)

    def listen(self, *, since: int = -1, timeout: float = 5.0) -> Any | None:
        """Give the first message after ``since``, waiting up to ``timeout`` seconds; None when none came."""
        try:
            for _seq, value in self.entries(since, timeout=timeout):
                return value
        except TimeoutError:
            pass
        return None

    def stream(self, since: int = -1, *, timeout: float = 30.0) -> Iterator[Any]:
        """Yield messages after ``since`` as they come, up to the final one.

        Raises ``TimeoutError`` when nothing new comes for ``timeout`` seconds.
        """
        return (value for _seq, value in self.entries(since, timeout=timeout))

    def entries(self, since: int = -1, *, timeout: float = 30.0) -> Iterator[tuple[int, Any]]:
        """Like ``stream``, yielding ``(number, message)``."""
        for seq, data in self._queue.dispatch.journal_read(self.journal_id, since=since, timeout=timeout):
            frame = wire.WireFrame.decode(data)
            if frame.kind == wire.FrameKind.VALUE:
                yield seq, frame.body

    def trim(self, *, keep_last: int = 0) -> int:
        """Forget all but the last messages; how many went. Numbers go on where they were."""
        return self._queue.dispatch.journal_trim(self.journal_id, keep_last=keep_last)
