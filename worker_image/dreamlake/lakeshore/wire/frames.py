"""Frames of a stream: ``[kind, seq, body, meta]``, each a msgpack array that ends itself.

``seq`` counts from 0 within one invocation and is what a reader reconnects with. ``END`` and ``ERROR`` end
the stream, so that a producer that has finished is told apart from a connection that broke.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgpack import OutOfData, Unpacker

from dreamlake.lakeshore.errors import WireError
from dreamlake.lakeshore.wire.packing import pack
from dreamlake.lakeshore.wire.unpacking import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRAME_BYTES = 64 << 20
"""Largest frame that a reader takes unless told otherwise."""

_SLICE_BYTES = 1 << 20


class FrameKind(enum.IntEnum):
    """What a frame carries."""

    VALUE = 0
    """One value that the body yielded, or that was posted."""
    CHUNK = 1
    """A part of something larger, to be joined by the reader."""
    BEGIN = 2
    """The start of an attempt; its meta says which."""
    END = 3
    """The regular end of the stream."""
    ERROR = 4
    """The end of the stream by a failure; the body is ``{type, message, traceback}``."""


_KINDS = tuple(FrameKind)


@dataclass(frozen=True, slots=True)
class WireFrame:
    """One frame. ``body`` is any packable value, ``meta`` a dict of packable values."""

    kind: FrameKind
    seq: int
    body: Any = None
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def terminal(self) -> bool:
        """Whether the stream ends with this frame."""
        return self.kind >= FrameKind.END

    def encode(self) -> bytes:
        """Pack the frame. Raises as ``wire.pack`` does."""
        return pack([int(self.kind), self.seq, self.body, self.meta])

    @classmethod
    def decode(cls, data: bytes) -> WireFrame:
        """Read exactly one frame. Raises ``WireError``."""
        return _parse(unpack(data))


def _parse(raw: Any) -> WireFrame:
    if type(raw) is not list or len(raw) != 4:
        raise WireError("a frame is a list [kind, seq, body, meta]")
    kind, seq, body, meta = raw
    if type(kind) is not int or not 0 <= kind < len(_KINDS):
        raise WireError(f"unknown frame kind {kind!r}: upgrade lakeshore-kube on the reading side")
    if type(seq) is not int or seq < 0:
        raise WireError(f"a frame's seq counts from 0, this one says {seq!r}")
    if meta is None:
        meta = {}
    if type(meta) is not dict:
        raise WireError(f"a frame's meta is a dict, not a {type(meta).__qualname__}")
    return WireFrame(_KINDS[kind], seq, body, meta)


class FrameReader:
    """Puts frames together from pieces of a stream, however they were split.

    Holds at most one incomplete frame of up to ``max_frame_bytes``. After a malformed or oversized frame the
    place of the next one is unknown: every later call raises the same ``WireError``.
    """

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._limit = max_frame_bytes
        self._waiting: list[bytes] = []  # fed, not scanned yet
        self._partial = bytearray()  # scanned; the start of the frame that is not complete
        self._scanner = Unpacker(strict_map_key=False, max_buffer_size=max_frame_bytes + _SLICE_BYTES)
        self._scanned = 0  # stream offset of the end of the last complete frame
        self._broken: WireError | None = None

    @property
    def pending(self) -> int:
        """Bytes held back because their frame is not complete; 0 where a stream may end."""
        return len(self._partial) + sum(map(len, self._waiting))

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[WireFrame]:
        """Take a piece and give the frames that it completes.

        The piece is kept even if the iterator is dropped: the next call goes on where it stopped. Raises
        ``WireError`` at the first malformed frame, after the good ones before it.
        """
        if len(data):
            self._waiting.append(bytes(data))
        return self._drain()

    def _drain(self) -> Iterator[WireFrame]:
        while True:
            if self._broken is not None:
                raise self._broken
            try:
                found = self._next()
            except WireError as problem:
                self._broken = problem
                raise
            if found is not None:
                yield found
            elif not self._waiting:
                return
            else:
                self._scan_more()

    def _next(self) -> WireFrame | None:
        """Cut off and decode one complete frame of what was scanned, or None."""
        if not self._partial:
            return None
        try:
            self._scanner.skip()
        except OutOfData:
            if len(self._partial) > self._limit:
                raise WireError(f"a frame is larger than {self._limit} bytes") from None
            return None
        except Exception as problem:
            raise WireError(
                f"the stream does not hold frames: {type(problem).__name__}: {problem}"
            ) from problem
        end = self._scanner.tell()
        size = end - self._scanned
        self._scanned = end
        if size > self._limit:
            raise WireError(f"a frame is larger than {self._limit} bytes")
        frame = bytes(self._partial[:size])
        del self._partial[:size]
        return WireFrame.decode(frame)

    def _scan_more(self) -> None:
        """Move up to one slice from the waiting pieces to the scanner, which holds a bounded buffer."""
        piece = self._waiting[0]
        if len(piece) > _SLICE_BYTES:
            self._waiting[0] = piece[_SLICE_BYTES:]
            piece = piece[:_SLICE_BYTES]
        else:
            del self._waiting[0]
        self._partial += piece
        self._scanner.feed(piece)
