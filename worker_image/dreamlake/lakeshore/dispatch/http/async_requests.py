"""Requests from an event loop: the same words, tries and errors as those of threads, sent by aiohttp."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import aiohttp
from yarl import URL

from dreamlake.lakeshore.dispatch.http import payloads
from dreamlake.lakeshore.dispatch.http.answers import MAX_ANSWER_BYTES, Answer, GarbledError
from dreamlake.lakeshore.dispatch.http.attempts import READ_S, Attempts
from dreamlake.lakeshore.dispatch.http.connections import CONNECT_S, IDLE_S, LostError, TlsError
from dreamlake.lakeshore.dispatch.http.requests import fields_of
from dreamlake.lakeshore.dispatch.http.steps import Ask, Fetch
from dreamlake.lakeshore.dispatch.http.words import packed
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.http.steps import Step, Steps

CONNECTIONS = 32
"""Connections for requests that are answered at once; more requests than that wait for their turn."""
WAITING_CONNECTIONS = 128
"""Connections for those that wait on the server."""
CROWDED_WAIT_S = 1.0
"""Seconds that the server is asked to wait when there are more waiters than connections for them."""
_NO_HEADERS: dict[str, str] = {}
T = TypeVar("T")


class AsyncRequests:
    """Requests to where ``requests`` go, for the event loop that runs. Large payloads are left to ``requests``."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._contact = requests.contact
        address = requests.address
        scheme = "https" if address.tls else "http"
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._base = f"{scheme}://{host}:{address.port}{requests.words.root}/"
        self._quick = self._session(CONNECTIONS)
        self._slow = self._session(WAITING_CONNECTIONS)
        self._waiting = 0
        self._closed = False
        self._end = self._until_the_loop_ends()
        self._bound = False

    def _session(self, limit: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, keepalive_timeout=IDLE_S),
            headers=self._requests.words.headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    @property
    def timeout_s(self) -> float:
        """How long a request is tried again for."""
        return self._contact.timeout_s

    @property
    def closed(self) -> bool:
        """Whether this loop's end has come, or the plane was closed."""
        return self._closed or self._requests.closed

    def patient(self, wait_s: float) -> float:
        """Choose how long the server may be asked to wait: shorter where waiters take turns."""
        return wait_s if self._waiting < WAITING_CONNECTIONS else min(wait_s, CROWDED_WAIT_S)

    async def run(self, steps: Steps[T]) -> T:
        """Carry out a verb."""
        if not self._bound:
            self._bound = True
            await anext(self._end)
        try:
            step = next(steps)
            while True:
                try:
                    answer = await self._perform(step)
                except BaseException as exc:
                    step = steps.throw(exc)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            found: T = end.value
            return found

    async def _perform(self, step: Step) -> object:
        if isinstance(step, Ask):
            return await self._ask(step)
        if isinstance(
            step, Fetch
        ):  # seldom, large, and hashed or unpacked: nothing for the loop's own thread
            return await asyncio.to_thread(self._requests.fetch, step.path)
        return await asyncio.to_thread(payloads.bring, self._requests, step.data)

    async def _ask(self, step: Ask) -> dict[str, Any]:
        method = "GET" if step.body is None else "POST"
        data, headers = (None, _NO_HEADERS) if step.body is None else packed(step.body)
        attempts = Attempts(self._contact, wait_s=step.wait_s, repeat=step.repeat)
        url = URL(self._base + step.path, encoded=True)
        while True:
            try:
                found: Answer | LostError = await self._exchange(method, url, data, headers, step)
            except LostError as lost:
                found = lost
            verdict = attempts.judge(found)
            if isinstance(verdict, Answer):
                return fields_of(verdict, self._requests.address)
            await asyncio.sleep(verdict)

    async def _exchange(
        self, method: str, url: URL, data: bytes | None, headers: Mapping[str, str], step: Ask
    ) -> Answer:
        """Send a request once and read its answer. Raises ``LostError``, or ``DispatchError`` when closed."""
        self._check_open()
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=step.wait_s + READ_S)
        holds = step.holds and step.wait_s > 0
        session = self._slow if holds else self._quick
        self._waiting += holds
        try:
            async with session.request(
                method, url, data=data, headers=headers, timeout=limits, allow_redirects=False
            ) as answer:
                body = await _body(answer)
                told = {name.lower(): text for name, text in answer.headers.items()}
                return Answer(answer.status, told, body, keep=True)
        except (aiohttp.ClientError, OSError, RuntimeError) as exc:
            self._check_open()  # a session that is closed under a request raises RuntimeError
            if isinstance(exc, RuntimeError):
                raise
            raise _lost(exc) from exc
        finally:
            self._waiting -= holds

    def _check_open(self) -> None:
        if self.closed:
            raise DispatchError(
                f"this plane ({self._requests.address.url}) is closed: open a new HttpDispatch"
            )

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        """Close the sessions with the loop: it closes its asynchronous generators before it ends."""
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        """Close every connection; calls under way raise ``DispatchError``."""
        self._closed = True
        for session in (self._quick, self._slow):
            await session.close()
        await asyncio.sleep(0)  # closed connections are let go of at the loop's next turn


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    if answer.content_length is not None and answer.content_length <= MAX_ANSWER_BYTES:
        return await answer.read()
    parts: list[bytes] = []
    total = 0
    async for part in answer.content.iter_any():
        total += len(part)
        if total > MAX_ANSWER_BYTES:
            raise GarbledError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _lost(exc: Exception) -> LostError:
    """Say in the words of the other transport why no answer came."""
    if isinstance(exc, aiohttp.ClientConnectorCertificateError):
        return LostError(TlsError(exc.certificate_error), sent=False)  # type: ignore[arg-type]
    if isinstance(exc, aiohttp.ClientSSLError):
        return LostError(TlsError(exc.os_error), sent=False)
    if isinstance(exc, aiohttp.ConnectionTimeoutError):
        return LostError(TimeoutError(), sent=False)
    if isinstance(exc, aiohttp.ClientConnectorError):
        return LostError(exc.os_error, sent=False)
    if isinstance(exc, TimeoutError):
        return LostError(TimeoutError(), sent=True)
    if isinstance(exc, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return LostError(
            GarbledError("the connection was closed before the whole answer had come"), sent=True
        )
    if isinstance(exc, OSError):
        return LostError(exc, sent=True)
    return LostError(GarbledError("what answers there does not speak HTTP/1.1"), sent=True)
