"""What the control plane refuses, and how it says so: one class for each ``error.type`` of the HTTP contract."""

from __future__ import annotations

from typing import ClassVar


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault of ours
    """A request that is answered with an error. ``message`` is shown to users as it is; ``hint`` says what to do."""

    type: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.retry_after_s = retry_after_s

    def to_dict(self) -> dict[str, object]:
        """Give the wire form: ``{type, message, hint?, retry_after_s?}``."""
        found: dict[str, object] = {"type": self.type, "message": self.message}
        if self.hint is not None:
            found["hint"] = self.hint
        if self.retry_after_s is not None:
            found["retry_after_s"] = self.retry_after_s
        return found


class BadRequest(Refusal):
    """The body or a parameter cannot be used."""

    type, status = "bad_request", 400


class Unauthorized(Refusal):
    """No token, or one that is unknown, revoked or expired."""

    type, status = "unauthorized", 401


class Forbidden(Refusal):
    """The token lacks the scope."""

    type, status = "forbidden", 403


class NotFound(Refusal):
    """Nothing of that name in the caller's namespace."""

    type, status = "not_found", 404


class Expired(Refusal):
    """It was there and its retention is over."""

    type, status = "expired", 404


class IdConflict(Refusal):
    """The id exists with other content."""

    type, status = "id_conflict", 409


class QueueUnavailable(Refusal):
    """The queue is draining, paused or archived."""

    type, status = "queue_unavailable", 409


class Fenced(Refusal):
    """The caller no longer holds the lease of the attempt it reports on; nothing was changed."""

    type, status = "fenced", 409


class Refused(Refusal):
    """A journal does not take the frame; asked again it would refuse again."""

    type, status = "refused", 409


class DeadlineTooNear(Refusal):
    """The deadline is nearer than the queue's ``deadline_cutoff_s``."""

    type, status = "deadline_too_near", 409


class PayloadTooLarge(Refusal):
    """A body, a payload or a frame above its limit; nothing was stored."""

    type, status = "payload_too_large", 413


class QueueFull(Refusal):
    """The queue has ``max_depth`` rows."""

    type, status = "queue_full", 429


class RateLimited(Refusal):
    """The queue's ``rate_limit`` is used up."""

    type, status = "rate_limited", 429


class StoreUnavailable(Refusal):
    """A store behind the control plane does not answer now."""

    type, status = "store_unavailable", 503


class Stopping(Refusal):
    """The replica is going away: ask another one."""

    type, status = "stopping", 503
