"""One request's tries: what each came to, and whether and when there is another."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from dreamlake.lakeshore.dispatch.http.answers import Answer, GarbledError
from dreamlake.lakeshore.dispatch.http.connections import LostError, TlsError
from dreamlake.lakeshore.dispatch.http.faults import fault_of, unreachable
from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.errors import DispatchError

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.address import Address

READ_S = 10.0
"""Seconds that an answer may take beyond the time that it was asked to wait."""
_FIRST_CONTACT_S = 2.0
"""Seconds to try for as long as this URL has never answered: then it is wrong more likely than down."""

Repeat: TypeAlias = Literal["always", "unless_lost", "if_not_done"]
"""When a request may be made again: always; unless the server may have had it and its answer was lost; or only where
the server has surely not acted on it (a store that failed may have)."""


class LostAnswerError(DispatchError):
    """The connection broke after the request was sent: whether the server has acted on it is not known."""


@dataclass(slots=True)
class Contact:
    """One control plane, how long to insist there, and whether it has ever answered."""

    address: Address
    timeout_s: float
    met: bool = False


class Attempts:
    """Judges the tries of one request; the same for threads, which pause, and for event loops, which await."""

    def __init__(
        self, contact: Contact, *, wait_s: float = 0.0, repeat: Repeat = "always", redirects: bool = False
    ) -> None:
        """``wait_s``: how long the server was asked to wait, which does not count as being away."""
        self._contact = contact
        self._wait_s = wait_s
        self._repeat = repeat
        self._redirects = redirects
        self._began = time.monotonic()
        self._patience: Patience | None = None

    def judge(self, found: Answer | LostError) -> Answer | float:
        """Give the answer if it is one of success, else the seconds to pause; raises the caller's error instead."""
        contact = self._contact
        cause: OSError | None = None
        if isinstance(found, LostError):
            error: Exception = unreachable(contact.address, found.reason)
            cause = found.reason
            if found.sent and self._repeat != "always":
                raise LostAnswerError(f"{error}; whether it has acted on the request is not known") from cause
            passing, after = contact.met or not _is_hopeless(cause), 0.0
        elif found.status < 300 or (self._redirects and found.status == 307):
            contact.met = True
            return found
        else:
            fault = fault_of(found, contact.address)
            contact.met = contact.met or fault.kind not in ("foreign", "redirect")
            error = fault.error(contact.address)
            passing, after = fault.is_passing(repeatable=self._repeat != "if_not_done"), fault.retry_after_s
        pause = self._pause_s(after) if passing else None
        if pause is None:
            raise error from cause
        return pause

    def _pause_s(self, after: float) -> float | None:
        if self._patience is None:
            limit = self._contact.timeout_s
            if not self._contact.met:
                limit = min(limit, _FIRST_CONTACT_S)
            self._patience = Patience(limit - max(0.0, time.monotonic() - self._began - self._wait_s))
        return self._patience.pause_s(after)


def _is_hopeless(reason: OSError) -> bool:
    """Whether a first contact that fails so would fail again: the URL is wrong."""
    return isinstance(reason, TlsError | GarbledError)
