"""Requests to one control plane: sent, tried again where that is safe, their answers or errors given back."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import quote

from dreamlake.lakeshore.dispatch.http.answers import GarbledError
from dreamlake.lakeshore.dispatch.http.connections import LostError, Pool, TlsError
from dreamlake.lakeshore.dispatch.http.encoding import (
    GZIP_ABOVE,
    MSGPACK,
    RAW,
    compress,
    decode,
    encode,
    plain_bytes,
)
from dreamlake.lakeshore.dispatch.http.faults import Fault, fault_of, unreachable
from dreamlake.lakeshore.dispatch.http.object_store import TRANSFER_S, download, upload
from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from dreamlake.lakeshore.dispatch.http.address import Address
    from dreamlake.lakeshore.dispatch.http.answers import Answer

LONG_POLL_S = 20.0
"""Seconds that one request may ask the server to wait: less than proxies allow."""
_READ_S = 10.0
"""Seconds that an answer may take beyond the time that it was asked to wait."""
_FIRST_CONTACT_S = 2.0
"""Seconds to try for as long as this URL has never answered: then it is wrong more likely than down."""


Repeat: TypeAlias = Literal["always", "unless_lost", "if_not_done"]
"""When a request may be made again: always; unless the server may have had it and its answer was lost; or only where
the server has surely not acted on it (a store that failed may have)."""


class LostAnswerError(DispatchError):
    """The connection broke after the request was sent: whether the server has acted on it is not known."""


class Requests:
    """Requests for one namespace, with one token. For any number of threads.

    ``timeout_s``: how long a request is tried again for, when the control plane cannot be reached or says that
    it cannot answer now.
    """

    def __init__(self, address: Address, *, token: str | None, namespace: str, timeout_s: float) -> None:
        self.address = address
        self.namespace = namespace
        self.timeout_s = timeout_s
        self._token = token
        self._pool = Pool(address)
        self._apart: weakref.WeakSet[Requests] = weakref.WeakSet()
        self._met = False
        tenant = "" if namespace == "default" else f"/namespaces/{quote(namespace, safe='')}"
        self._root = f"{address.prefix}/v1{tenant}"
        self._common = (
            f" HTTP/1.1\r\nHost: {address.host_header}\r\nUser-Agent: lakeshore-python\r\n"
            f"Accept: {MSGPACK}\r\nAccept-Encoding: gzip\r\n"
            + (f"Authorization: Bearer {token}\r\n" if token else "")
        )

    def __repr__(self) -> str:
        return f"Requests({self.address.url!r}, namespace={self.namespace!r})"

    def apart(self, *, timeout_s: float) -> Requests:
        """Make another one to the same place with connections of its own; closed apart, or with this one."""
        made = Requests(self.address, token=self._token, namespace=self.namespace, timeout_s=timeout_s)
        made._met = self._met
        self._apart.add(made)
        if self.closed:
            made.close()
        return made

    @property
    def closing(self) -> threading.Event:
        """What ``close`` sets."""
        return self._pool.closed

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._pool.closed.is_set()

    def post(
        self, path: str, body: Mapping[str, object], *, wait_s: float = 0.0, repeat: Repeat = "always"
    ) -> dict[str, Any]:
        """Post to a path below the namespace (``producer/submit``) and give the answer.

        ``wait_s``: how long the server was asked to wait. Raises ``DispatchError`` and those below it (among them
        ``LostAnswerError``, unless it may ``repeat`` always), ``ConfigError``.
        """
        data = encode(body)
        packed = compress(data) if len(data) > GZIP_ABOVE else None
        coding = "" if packed is None else "Content-Encoding: gzip\r\n"
        request = self._request("POST", path, data if packed is None else packed, coding)
        return self._fields(self._answered(request, wait_s=wait_s, repeat=repeat))

    def put(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Put to a path below the namespace and give the answer. Raises as ``post`` does."""
        return self._fields(self._answered(self._request("PUT", path, encode(body))))

    def get(self, path: str, *, wait_s: float = 0.0) -> dict[str, Any]:
        """Get a path below the namespace, its variable parts quoted already. Raises as ``post`` does."""
        return self._fields(self._answered(self._request("GET", path), wait_s=wait_s))

    def fetch(self, path: str) -> bytes:
        """Get raw bytes, from where the control plane says that they lie. Raises as ``post`` does."""
        answer = self._answered(self._request("GET", path), redirects=True, read_s=TRANSFER_S)
        try:
            if answer.status >= 300:
                return download(answer.headers.get("location", ""), self.closing, Patience(self.timeout_s))
            return plain_bytes(answer)
        except GarbledError as exc:
            raise unreachable(self.address, exc) from exc

    def put_bytes(self, path: str, data: bytes) -> None:
        """Put raw bytes, of whatever size. Raises as ``post`` does."""
        self._answered(self._request("PUT", path, data, kind=RAW), read_s=TRANSFER_S)

    def upload(self, url: str, headers: Mapping[str, str], data: bytes) -> None:
        """Put raw bytes where the control plane said, without its token. Raises ``DispatchError``."""
        upload(url, headers, data, self.closing, Patience(self.timeout_s))

    def _request(
        self, method: str, path: str, data: bytes | None = None, extra: str = "", kind: str = MSGPACK
    ) -> bytes:
        head = f"{method} {self._root}/{path}{self._common}"
        if data is None:
            return f"{head}\r\n".encode("latin-1")
        head += f"Content-Type: {kind}\r\n{extra}Content-Length: {len(data)}\r\n\r\n"
        return head.encode("latin-1") + data

    def _answered(
        self,
        request: bytes,
        *,
        wait_s: float = 0.0,
        repeat: Repeat = "always",
        redirects: bool = False,
        read_s: float = _READ_S,
    ) -> Answer:
        """Send until an answer of success comes; its caller's error when that is not to be had."""
        began = time.monotonic()
        patience: Patience | None = None
        while True:
            try:
                answer = self._pool.exchange(request, wait_s + read_s, repeatable=repeat == "always")
                if answer.status < 300 or (redirects and answer.status == 307):
                    self._met = True
                    return answer
                raise fault_of(answer, self.address)
            except LostError as lost:
                cause: OSError | None = lost.reason
                error: Exception = unreachable(self.address, lost.reason)
                if lost.sent and repeat != "always":
                    raise LostAnswerError(
                        f"{error}; whether it has acted on the request is not known"
                    ) from cause
                passing, after = self._met or not _is_hopeless(lost.reason), 0.0
            except Fault as fault:
                self._met = self._met or fault.kind not in ("foreign", "redirect")
                cause, error = None, fault.error(self.address)
                passing, after = fault.is_passing(repeatable=repeat != "if_not_done"), fault.retry_after_s
            if patience is None:
                limit = self.timeout_s if self._met else min(self.timeout_s, _FIRST_CONTACT_S)
                patience = Patience(limit - max(0.0, time.monotonic() - began - wait_s))
            if not passing or not patience.pause(self.closing, after):
                raise error from cause

    def _fields(self, answer: Answer) -> dict[str, Any]:
        try:
            found = decode(answer)
        except GarbledError as exc:
            raise unreachable(self.address, exc) from exc
        if not isinstance(found, dict):
            raise DispatchError(
                f"what answers at {self.address.url} is no control plane: correct LAKESHORE_URL or --url"
            )
        return found

    def close(self) -> None:
        """Close every connection; calls under way and later ones raise ``DispatchError``."""
        self._pool.close()
        for other in list(self._apart):
            other.close()


def _is_hopeless(reason: OSError) -> bool:
    """Whether a first contact that fails so would fail again: the URL is wrong."""
    return isinstance(reason, TlsError | GarbledError)


def segment(text: str) -> str:
    """Spell text as one segment of a path."""
    return quote(text, safe="")
