"""From what went wrong with a request to the error that its caller sees."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

from dreamlake.lakeshore.dispatch.http.answers import GarbledError
from dreamlake.lakeshore.dispatch.http.connections import TlsError
from dreamlake.lakeshore.dispatch.http.encoding import decode
from dreamlake.lakeshore.errors import (
    DispatchError,
    FencedError,
    LakeshoreError,
    QueueFullError,
    QueueUnavailableError,
    RefusedError,
    TooLargeError,
)

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.address import Address
    from dreamlake.lakeshore.dispatch.http.answers import Answer

_LONGEST_RETRY_AFTER_S = 3600.0


class NotFoundError(DispatchError):
    """The control plane does not have what was asked for."""


_KINDS: dict[str, type[DispatchError]] = {
    "bad_request": RefusedError,
    "id_conflict": RefusedError,
    "refused": RefusedError,
    "deadline_too_near": RefusedError,
    "payload_too_large": TooLargeError,
    "not_found": NotFoundError,
    "expired": NotFoundError,
    "queue_unavailable": QueueUnavailableError,
    "fenced": FencedError,
}


class Fault(Exception):  # noqa: N818 - it becomes an error, or nothing, where it is caught
    """An answer that is an error. ``kind``: its type on the wire; ``retry_after_s``: what the server asked for."""

    def __init__(self, kind: str, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s

    def is_passing(self, *, repeatable: bool) -> bool:
        """Whether the same request may be taken a little later.

        A full queue is the caller's to wait for. A store that failed may have acted before it did.
        """
        return self.kind in ("rate_limited", "stopping") or (self.kind == "store_unavailable" and repeatable)

    def error(self, address: Address) -> LakeshoreError:
        """Give the error for the caller."""
        message = str(self)
        if self.kind in ("queue_full", "rate_limited"):
            return QueueFullError(message, self.retry_after_s)
        if self.kind == "unauthorized":
            return DispatchError(
                f"the control plane at {address.url} refuses the token ({message}): set LAKESHORE_CLIENT_TOKEN, "
                "--token or HttpDispatch(token=...) to one of its tokens"
            )
        if self.kind == "forbidden":
            return DispatchError(
                f"{message}: the token in LAKESHORE_CLIENT_TOKEN or --token lacks the scope or the namespace for this"
            )
        return _KINDS.get(self.kind, DispatchError)(message)


def fault_of(answer: Answer, address: Address) -> Fault:
    """Read an answer of status 300 or more."""
    after = _retry_after(answer.headers.get("retry-after", ""))
    with contextlib.suppress(GarbledError):
        body = decode(answer)
        told = body.get("error") if isinstance(body, dict) else None
        if isinstance(told, dict):
            message = str(told.get("message") or f"status {answer.status} without a reason")
            hint = told.get("hint")
            if hint and str(hint) not in message:
                message = f"{message}: {hint}"
            return Fault(str(told.get("type") or "internal"), message, after)
    return Fault(*_of_no_control_plane(answer, address), after)


def _of_no_control_plane(answer: Answer, address: Address) -> tuple[str, str]:
    """Judge an answer that something else gave: a proxy on the way, or another server."""
    if answer.status in (502, 503, 504):
        return "stopping" if answer.status == 503 else "store_unavailable", (
            f"the control plane behind {address.url} does not answer (status {answer.status}): is it running?"
        )
    if answer.status == 429:
        return "rate_limited", f"{address.url} takes no more requests for now (status 429)"
    if answer.status == 401:
        return "unauthorized", "status 401"
    if 300 <= answer.status < 400:
        target = answer.headers.get("location", "another place")[:200]
        return "redirect", f"{address.url} redirects to {target!r}: use that as the control plane URL"
    return "foreign", (
        f"what answers at {address.url} is no control plane (status {answer.status}): "
        "correct LAKESHORE_URL or --url"
    )


def _retry_after(text: str) -> float:
    """Read ``Retry-After`` in seconds; a date, or nonsense, counts as none."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return min(max(0.0, seconds), _LONGEST_RETRY_AFTER_S) if math.isfinite(seconds) else 0.0


def unreachable(address: Address, reason: OSError) -> DispatchError:
    """Say in one line why no answer came."""
    if isinstance(reason, TlsError) and reason.untrusted:
        return DispatchError(
            f"the certificate of {address.url} is not trusted ({reason.untrusted}): correct the URL, "
            "or name the file of its authority in SSL_CERT_FILE"
        )
    if isinstance(reason, GarbledError | TlsError):
        return DispatchError(
            f"no control plane answers at {address.url} ({reason}): "
            "correct LAKESHORE_URL or --url, its http:// or https:// too"
        )
    why = "it took too long" if isinstance(reason, TimeoutError) else reason.strerror or str(reason)
    return DispatchError(
        f"no control plane answers at {address.url} ({why}): is it running? "
        "Start it, or correct LAKESHORE_URL or --url"
    )
