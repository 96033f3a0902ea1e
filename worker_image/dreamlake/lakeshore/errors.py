"""Every error the SDK raises on purpose. Each message says what happened and what to do next."""

from __future__ import annotations

from dataclasses import dataclass


class LakeshoreError(Exception):
    """Base of all errors raised on purpose by this package."""


class DispatchError(LakeshoreError):
    """A dispatch plane refused a request, or an invocation did not end well."""


class PlaneLostError(DispatchError):
    """What the plane keeps its rows in was deleted, replaced or damaged: trying again cannot help."""


class FencedError(DispatchError):
    """The caller no longer holds the lease of the attempt it reports on; nothing was changed."""


class RefusedError(DispatchError):
    """The plane refused a request for what it says: asked again, it would refuse again."""


class TooLargeError(RefusedError):
    """The plane takes no payload, result or frame of that size."""


class QueueUnavailableError(DispatchError):
    """The queue does not take new work: it is draining, paused or archived."""


class QueueFullError(DispatchError):
    """The queue has no room, or takes no more submissions a second; ``retry_after_s``: seconds until it may have."""

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[QueueFullError], tuple[str, float]]:
        return type(self), (str(self), self.retry_after_s)


class InvocationFailedError(DispatchError):
    """The invocation ended ``failed``: ``error`` says what its body raised, where it ran."""

    def __init__(self, invocation_id: str, error: ErrorInfo) -> None:
        what = f"{error.type}: {error.message}" if error.message else error.type
        super().__init__(f"invocation {invocation_id} failed: {what}")
        self.invocation_id = invocation_id
        self.error = error

    def __reduce__(self) -> tuple[type[InvocationFailedError], tuple[str, ErrorInfo]]:
        return type(self), (self.invocation_id, self.error)


class InvocationCancelledError(DispatchError):
    """The invocation was cancelled before it could end by itself."""


class WorkerError(LakeshoreError):
    """A worker cannot run the invocation: its function cannot be imported, or was changed."""


class TransportError(LakeshoreError):
    """A function cannot be shipped to a worker, or the worker refuses the way it was shipped."""


class WireError(LakeshoreError, ValueError):
    """Bytes that are not a value of the wire format, or that claim more than they hold."""


class KeyContractError(LakeshoreError):
    """A body returned other keys than it wrote, or used a key outside its root."""


class ConfigError(LakeshoreError):
    """A setting, a flag or a file given by the user cannot be used as it is."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """What a failed invocation left behind: the wire's ``{type, message, traceback}``."""

    type: str
    message: str
    traceback: str | None = None

    def to_dict(self) -> dict[str, str]:
        """Give the wire form; ``traceback`` is left out when there is none."""
        found = {"type": self.type, "message": self.message}
        if self.traceback is not None:
            found["traceback"] = self.traceback
        return found

    @classmethod
    def from_dict(cls, raw: object) -> ErrorInfo:
        """Read the wire form, however incomplete: an error report must never fail to be read."""
        fields = raw if isinstance(raw, dict) else {"message": str(raw)}
        trace = fields.get("traceback")
        return cls(
            type=str(fields.get("type") or "Error"),
            message=str(fields.get("message") or ""),
            traceback=None if trace is None else str(trace),
        )
