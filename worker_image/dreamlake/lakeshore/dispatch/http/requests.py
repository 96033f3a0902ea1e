"""Requests to one control plane: sent, tried again where that is safe, their answers or errors given back."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from dreamlake.lakeshore.dispatch.http import payloads
from dreamlake.lakeshore.dispatch.http.answers import Answer, GarbledError
from dreamlake.lakeshore.dispatch.http.attempts import READ_S, Attempts, Contact, LostAnswerError, Repeat
from dreamlake.lakeshore.dispatch.http.connections import LostError, Pool
from dreamlake.lakeshore.dispatch.http.encoding import RAW, decode, plain_bytes
from dreamlake.lakeshore.dispatch.http.faults import unreachable
from dreamlake.lakeshore.dispatch.http.object_store import TRANSFER_S, download, upload
from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.dispatch.http.steps import Ask, Fetch
from dreamlake.lakeshore.dispatch.http.words import Words, packed, segment
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from dreamlake.lakeshore.dispatch.http.address import Address
    from dreamlake.lakeshore.dispatch.http.steps import Step, Steps

__all__ = ["LONG_POLL_S", "LostAnswerError", "Repeat", "Requests", "fields_of", "segment"]

LONG_POLL_S = 20.0
"""Seconds that one request may ask the server to wait: less than proxies allow."""
T = TypeVar("T")


class Requests:
    """Requests for one namespace, with one token. For any number of threads.

    ``timeout_s``: how long a request is tried again for, when the control plane cannot be reached or says that
    it cannot answer now.
    """

    def __init__(self, address: Address, *, token: str | None, namespace: str, timeout_s: float) -> None:
        self.address = address
        self.namespace = namespace
        self.timeout_s = timeout_s
        self.words = Words(address, token=token, namespace=namespace)
        self.contact = Contact(address, timeout_s)
        self._token = token
        self._pool = Pool(address)
        self._apart: weakref.WeakSet[Requests] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"Requests({self.address.url!r}, namespace={self.namespace!r})"

    def apart(self, *, timeout_s: float) -> Requests:
        """Make another one to the same place with connections of its own; closed apart, or with this one."""
        made = Requests(self.address, token=self._token, namespace=self.namespace, timeout_s=timeout_s)
        made.contact.met = self.contact.met
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

    def run(self, steps: Steps[T]) -> T:
        """Carry out a verb."""
        try:
            step = next(steps)
            while True:
                try:
                    answer = self._perform(step)
                except Exception as exc:
                    step = steps.throw(exc)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            found: T = end.value
            return found

    def _perform(self, step: Step) -> object:
        if isinstance(step, Ask):
            if step.body is None:
                return self.get(step.path, wait_s=step.wait_s)
            return self.post(step.path, step.body, wait_s=step.wait_s, repeat=step.repeat)
        return self.fetch(step.path) if isinstance(step, Fetch) else payloads.bring(self, step.data)

    def post(
        self, path: str, body: Mapping[str, object], *, wait_s: float = 0.0, repeat: Repeat = "always"
    ) -> dict[str, Any]:
        """Post to a path below the namespace (``producer/submit``) and give the answer.

        ``wait_s``: how long the server was asked to wait. Raises ``DispatchError`` and those below it (among them
        ``LostAnswerError``, unless it may ``repeat`` always), ``ConfigError``.
        """
        request = self.words.raw("POST", path, *packed(body))
        attempts = Attempts(self.contact, wait_s=wait_s, repeat=repeat)
        found = self._answered(request, attempts, wait_s + READ_S, repeatable=repeat == "always")
        return fields_of(found, self.address)

    def put(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Put to a path below the namespace and give the answer. Raises as ``post`` does."""
        request = self.words.raw("PUT", path, *packed(body))
        return fields_of(self._answered(request, Attempts(self.contact), READ_S), self.address)

    def get(self, path: str, *, wait_s: float = 0.0) -> dict[str, Any]:
        """Get a path below the namespace, its variable parts quoted already. Raises as ``post`` does."""
        attempts = Attempts(self.contact, wait_s=wait_s)
        found = self._answered(self.words.raw("GET", path), attempts, wait_s + READ_S)
        return fields_of(found, self.address)

    def delete(self, path: str, *, repeat: Repeat = "always") -> dict[str, Any]:
        """Delete what a path below the namespace names, and give the answer. Raises as ``post`` does."""
        request = self.words.raw("DELETE", path)
        found = self._answered(
            request, Attempts(self.contact, repeat=repeat), READ_S, repeatable=repeat == "always"
        )
        return fields_of(found, self.address)

    def fetch(self, path: str) -> bytes:
        """Get raw bytes, from where the control plane says that they lie. Raises as ``post`` does."""
        attempts = Attempts(self.contact, redirects=True)
        answer = self._answered(self.words.raw("GET", path), attempts, TRANSFER_S)
        try:
            if answer.status >= 300:
                target = answer.headers.get("location", "")
                return download(target, self.closing, Patience(self.timeout_s))
            return plain_bytes(answer)
        except GarbledError as exc:
            raise unreachable(self.address, exc) from exc

    def put_bytes(self, path: str, data: bytes) -> None:
        """Put raw bytes, of whatever size. Raises as ``post`` does."""
        request = self.words.raw("PUT", path, data, {"Content-Type": RAW})
        self._answered(request, Attempts(self.contact), TRANSFER_S)

    def upload(self, url: str, headers: Mapping[str, str], data: bytes) -> None:
        """Put raw bytes where the control plane said, without its token. Raises ``DispatchError``."""
        upload(url, headers, data, self.closing, Patience(self.timeout_s))

    def _answered(
        self, request: bytes, attempts: Attempts, read_s: float, *, repeatable: bool = True
    ) -> Answer:
        """Send until an answer of success comes; its caller's error when that is not to be had."""
        while True:
            try:
                found: Answer | LostError = self._pool.exchange(request, read_s, repeatable=repeatable)
            except LostError as lost:
                found = lost
            verdict = attempts.judge(found)
            if isinstance(verdict, Answer):
                return verdict
            self.closing.wait(verdict)

    @property
    def pool(self) -> Pool:
        """The connections, for who holds one for longer than a request."""
        return self._pool

    def close(self) -> None:
        """Close every connection; calls under way and later ones raise ``DispatchError``."""
        self._pool.close()
        for other in list(self._apart):
            other.close()


def fields_of(answer: Answer, address: Address) -> dict[str, Any]:
    """Unpack an answer that must be a map. Raises ``DispatchError``."""
    try:
        found = decode(answer)
    except GarbledError as exc:
        raise unreachable(address, exc) from exc
    if not isinstance(found, dict):
        raise DispatchError(
            f"what answers at {address.url} is no control plane: correct LAKESHORE_URL or --url"
        )
    return found
