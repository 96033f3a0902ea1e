"""HTTP as uvicorn reads it, with limits for what comes before a body: strangers send that, so nobody pays for it.

``uvicorn.Config(http=StrictHttp)`` takes the class. What is no HTTP is refused as the routes refuse: in the
contract's form.
"""

from __future__ import annotations

import asyncio
import json

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 64 << 10
"""Bytes of a request's target and headers, trailers included."""
SLOWEST_HEAD_S = 30.0
"""Seconds that they may take to come, from the first byte of a request on."""
_PER_HEADER = 32
_TOO_LARGE = f"the head of the request is larger than {LARGEST_HEAD} bytes"


class HeadTooLargeError(Exception):
    """The parser is to stop: it turns whatever a callback raises into its own error, which ends the connection."""


class StrictHttp(HttpToolsProtocol):
    """One connection."""

    _head_bytes = 0
    _unread_bytes = 0  # taken by the parser and not told to us: it keeps the header or target that is coming
    _in_head = False
    _patience: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Feed the parser; give up on a head that grows, or stays, too long."""
        self._unread_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._stop_waiting()
        elif self._unread_bytes > LARGEST_HEAD:
            self.send_400_response(_TOO_LARGE)
        elif self._in_head and self._patience is None:
            self._patience = self.loop.call_later(SLOWEST_HEAD_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """End with the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head_bytes = self._unread_bytes = 0
        self._in_head = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the target came."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or a trailer came whole."""
        self._count(_PER_HEADER + len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head came whole."""
        self._unread_bytes = 0
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body came."""
        self._unread_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request came whole."""
        self._unread_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and close."""
        self._stop_waiting()
        message = _TOO_LARGE if self._head_bytes > LARGEST_HEAD else msg
        body = json.dumps({"error": {"type": "bad_request", "message": message}}).encode()
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        )
        self.transport.write(head + body)
        self.transport.close()

    def _count(self, size: int) -> None:
        self._unread_bytes = 0
        self._head_bytes += size
        if self._head_bytes > LARGEST_HEAD:
            raise HeadTooLargeError

    def _give_up(self) -> None:
        self._patience = None
        if not self.transport.is_closing():
            self.send_400_response(f"the head of the request did not come within {SLOWEST_HEAD_S:g} s")

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
