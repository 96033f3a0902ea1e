"""One remote invocation as bytes: which function, with which arguments, under which names.

The arguments are packed on their own, so whoever routes an envelope reads its header without decoding them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dreamlake.lakeshore.errors import WireError
from dreamlake.lakeshore.wire.packing import pack
from dreamlake.lakeshore.wire.unpacking import unpack

WIRE_VERSION = 1
"""The one version number of the wire format; additive changes do not raise it."""

_KNOWN = frozenset({"v", "id", "fn", "args", "kwargs", "prefix", "key", "cfg", "parent"})


@dataclass(slots=True)
class Envelope:
    """An invocation on its way to a worker.

    ``id``: a ULID. ``fn``: ``{"kind": "ref" | "pickle", ...}``, see ``dreamlake.lakeshore.transport``.
    ``args`` and ``kwargs``: ``pack(list(args))`` and ``pack(dict(kwargs))``. ``prefix``: the scope that keys
    of ``run`` are resolved in. ``key``: idempotency key. ``cfg``: settings for the worker; keys that this
    version does not know are kept. ``parent``: id of the invocation that submitted this one. ``extra``:
    fields that a later version added; they are written back as they came.
    """

    id: str
    fn: dict[str, Any]
    args: bytes
    kwargs: bytes
    prefix: str = ""
    key: str | None = None
    cfg: dict[str, Any] = field(default_factory=dict)
    parent: str | None = None
    v: int = WIRE_VERSION
    extra: dict[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Serialise. Raises as ``wire.pack`` does."""
        fields = {
            "v": self.v,
            "id": self.id,
            "fn": self.fn,
            "args": self.args,
            "kwargs": self.kwargs,
            "prefix": self.prefix,
            "key": self.key,
            "cfg": self.cfg,
            "parent": self.parent,
        }
        return pack({**self.extra, **fields} if self.extra else fields)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Envelope:
        """Read an envelope; ``args`` and ``kwargs`` stay packed.

        Raises ``WireError`` for bytes that are no envelope, and for one of a later version than this reader.
        """
        raw = unpack(data)
        if type(raw) is not dict:
            raise WireError(
                f"an envelope is a map, this is a {type(raw).__qualname__}: "
                "a payload that was posted is for a consumer's claim, not for a worker"
            )
        _check_version(raw.get("v"))
        get: Any = raw.get
        cfg = get("cfg")
        envelope = cls(
            get("id"),
            get("fn"),
            get("args"),
            get("kwargs"),
            get("prefix", ""),
            get("key"),
            {} if cfg is None else cfg,
            get("parent"),
            raw["v"],
        )
        _check_types(envelope)
        if len(raw) > 9 or not raw.keys() <= _KNOWN:
            envelope.extra = {name: value for name, value in raw.items() if name not in _KNOWN}
        return envelope

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Unpack the arguments. Raises ``WireError`` when they are not a list and a dict with text keys."""
        args = unpack(self.args)
        kwargs = unpack(self.kwargs)
        if (
            type(args) is not list
            or type(kwargs) is not dict
            or not all(type(name) is str for name in kwargs)
        ):
            raise WireError(f"invocation {self.id} carries malformed arguments: submit it again")
        return args, kwargs


def _check_version(version: object) -> None:
    if type(version) is not int or version < 1:
        raise WireError("this is not an envelope: it has no version")
    if version > WIRE_VERSION:
        raise WireError(
            f"this envelope is version {version} and this reader knows up to {WIRE_VERSION}: "
            "upgrade dreamlake-lakeshore here (pip install --upgrade lakeshore-kube)"
        )


def _check_types(envelope: Envelope) -> None:
    good = (
        type(envelope.id) is str
        and type(envelope.fn) is dict
        and type(envelope.args) is bytes
        and type(envelope.kwargs) is bytes
        and type(envelope.prefix) is str
        and type(envelope.cfg) is dict
        and (envelope.key is None or type(envelope.key) is str)
        and (envelope.parent is None or type(envelope.parent) is str)
    )
    if not good:
        wrong = [name for name, allowed in _TYPES.items() if not isinstance(getattr(envelope, name), allowed)]
        raise WireError(f"malformed envelope: wrong type or missing: {', '.join(wrong)}")


_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "fn": (dict,),
    "args": (bytes,),
    "kwargs": (bytes,),
    "prefix": (str,),
    "cfg": (dict,),
    "key": (str, type(None)),
    "parent": (str, type(None)),
}
