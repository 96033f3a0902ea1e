"""``thunk``: a call that is shipped by value, function and all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.function.body import Holder, call_locally
from dreamlake.lakeshore.function.kinds import body_kind, body_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from dreamlake.lakeshore.queue.base import BaseQueue
    from dreamlake.lakeshore.wire import Envelope


class Thunk:
    """A function with its arguments, ready to run: here by calling it, elsewhere by submitting it.

    The function travels by value, with what it closes over (up to 32 KiB); workers run such only where they
    trust the producer, as on one machine.
    """

    transport = "pickle"

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ):
        self.fn = fn.fn if isinstance(fn, Holder) else fn
        if not callable(self.fn):
            raise TypeError(f"thunk takes a function and its arguments, not {fn!r}")
        self.args = args
        self.kwargs = kwargs or {}
        self.kind = body_kind(self.fn)

    def __repr__(self) -> str:
        return f"<thunk {body_name(self.fn)}>"

    def __call__(self) -> Any:
        """Run it here."""
        return call_locally(self.fn, self.args, self.kwargs)

    def to_envelope(self, *, id: str | None = None, key: str | None = None) -> Envelope:  # noqa: A002
        """Give the envelope of a new invocation. Raises ``TransportError`` when it cannot travel."""
        from dreamlake.lakeshore.function.enveloping import envelope_of  # noqa: PLC0415
        from dreamlake.lakeshore.invocation_id import new_id  # noqa: PLC0415

        return envelope_of(self, self.args, self.kwargs, inv_id=id or new_id(), key=key)

    def submit(self, queue: str | BaseQueue) -> str:
        """Submit it to a queue, given by name or object, and give the invocation's id."""
        from dreamlake.lakeshore.queue.synchronous import SyncQueue  # noqa: PLC0415

        target = (
            SyncQueue(queue) if isinstance(queue, str) else SyncQueue(queue.name, dispatch=queue.dispatch)
        )
        return target.submit(self)


def thunk(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Thunk:
    """Make a call that can be shipped by value: a lambda, a closure, a function of a notebook.

    >>> SyncQueue("cpu").submit(thunk(lambda x: x + offset, 2))
    """
    return Thunk(fn, args, kwargs)
