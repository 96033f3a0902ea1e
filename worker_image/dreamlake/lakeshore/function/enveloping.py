"""From a function and its arguments to the envelope that carries them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.context.run_context import active_context
from dreamlake.lakeshore.dispatch.plane import RunConfig, Submission
from dreamlake.lakeshore.function.body import Holder
from dreamlake.lakeshore.function.code_stamp import code_stamp
from dreamlake.lakeshore.function.kinds import body_name
from dreamlake.lakeshore.invocation_id import new_id
from dreamlake.lakeshore.transport import function_arm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dreamlake.lakeshore.dispatch.plane import Plane
    from dreamlake.lakeshore.wire import Envelope

_PLAIN = RunConfig()
_NO_ARGS = wire.pack([])
_NO_KWARGS = wire.pack({})


def own_config(fn: object) -> RunConfig:
    """Give the configuration that the function itself was declared with."""
    base_config = getattr(fn, "base_config", None) if isinstance(fn, Holder) else None
    return _PLAIN if base_config is None else base_config()


def envelope_of(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    inv_id: str,
    key: str | None = None,
    plane: Plane | None = None,
) -> Envelope:
    """Make the envelope of one call, in the scope and below the invocation that are in force here.

    ``plane``: where it will go; the function's code is pushed there first where workers may lack it.

    Raises ``TransportError`` for a function and ``TypeError`` for an argument that cannot travel.
    """
    context = active_context()
    arm = function_arm(fn)
    return wire.Envelope(
        id=inv_id,
        fn=arm,
        args=wire.pack(list(args)) if args else _NO_ARGS,
        kwargs=wire.pack(kwargs) if kwargs else _NO_KWARGS,
        prefix="" if context is None else context.prefix,
        key=key,
        cfg={} if plane is None or plane.local else code_stamp(arm, plane),
        parent=None if context is None else context.invocation_id,
    )


class CallTemplate:
    """Many calls of one function that differ in one argument and their ids: all else is packed once."""

    def __init__(self, fn: Callable[..., Any], plane: Plane | None = None) -> None:
        self.name = body_name(getattr(fn, "fn", fn))
        # Marks that cannot occur in what surrounds them; their places are taken by each call's own values.
        mark_id, mark_args = new_id(), new_id().encode()
        model = envelope_of(fn, (), {}, inv_id=mark_id, plane=plane)
        model.args = mark_args
        self._parent = model.parent
        self._head, rest = model.to_bytes().split(wire.pack(mark_id))
        self._middle, self._tail = rest.split(wire.pack(mark_args))

    def submissions(self, items: Iterable[Any], config: RunConfig) -> list[Submission]:
        """Give one submission per item, the item being the call's only argument."""
        parent = self._parent
        pack, encode = wire.pack, self.encode
        made = []
        for item in items:
            inv_id = new_id()
            made.append(Submission(inv_id, encode(inv_id, pack([item])), config, parent))
        return made

    def encode(self, inv_id: str, args: bytes) -> bytes:
        """Give the bytes that ``Envelope.to_bytes`` would give."""
        size = len(args)
        header = b"\xc4" + size.to_bytes(1) if size < 256 else wire.pack(args)[:-size]
        # An id has 26 characters: msgpack's short str.
        return b"".join((self._head, b"\xba", inv_id.encode(), self._middle, header, args, self._tail))
