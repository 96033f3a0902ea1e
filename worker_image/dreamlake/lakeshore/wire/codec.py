"""Which Python types travel as which msgpack extension, and how a program adds its own.

Codes 1 to 5 are the published protocol's, 16 to 31 this package's own (see ``FAMILIES``); 32 to 127 are free
for programs. Codecs that need another package, or a slow part of the standard library, are loaded when the
first value of theirs is met.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_FREE_CODE = 32
LAST_CODE = 127


@dataclass(frozen=True, slots=True)
class Codec:
    """How values of one type travel.

    ``encode`` turns a value into something that the wire already knows (which may nest any other packable
    value); ``decode`` gets exactly that back and rebuilds the value. ``code`` is the msgpack extension code,
    32 to 127 for a program's own types. Subclasses of ``type`` are refused unless ``subclasses`` says that
    ``encode`` keeps what makes them different. ``bulk`` saves copies of large values: ``encode`` gives a list that
    ends in a bytes-like object, and ``decode`` may get that last item as a read-only ``memoryview``.

    >>> register(Codec(40, Point, encode=lambda p: [p.x, p.y], decode=lambda xy: Point(*xy)))
    """

    code: int
    type: type[Any]
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    subclasses: bool = False
    bulk: bool = False


@dataclass(frozen=True, slots=True)
class _Family:
    """Codecs that live in one module of this package, and the extra that brings what they need."""

    codes: frozenset[int]
    roots: frozenset[str]
    needs: str = ""


FAMILIES: dict[str, _Family] = {
    "plain": _Family(frozenset({5, 16, 23, 24, 25}), frozenset({"builtins"})),
    "arrays": _Family(frozenset({1, 26}), frozenset({"numpy"}), "numpy"),
    "tensors": _Family(frozenset({2}), frozenset({"torch"}), "torch"),
    "images": _Family(frozenset({3}), frozenset({"PIL"}), "pillow"),
    "times": _Family(frozenset({17, 18, 19, 20}), frozenset({"datetime"})),
    "exact": _Family(frozenset({21, 22}), frozenset({"decimal", "uuid"})),
}
"""Module of ``dreamlake.lakeshore.wire`` -> the extension codes and the top-level packages that it serves."""

by_type: dict[type[Any], Codec] = {}
by_code: dict[int, Codec] = {}
_loaded: set[str] = set()


def register(codec: Codec) -> None:
    """Let values of ``codec.type`` travel. Register the same codec on every machine that reads them.

    Registering again replaces the codec of the same code and type (so a module can be reloaded). Raises
    ``ValueError`` for a code outside 32..127, or when the code or the type belongs to another codec.
    """
    if not FIRST_FREE_CODE <= codec.code <= LAST_CODE:
        raise ValueError(
            f"extension code {codec.code} is reserved: use {FIRST_FREE_CODE} to {LAST_CODE} for your own"
        )
    for name, family in FAMILIES.items():
        if codec.type.__module__.partition(".")[0] in family.roots:
            load(name)
    clash = by_code.get(codec.code)
    if clash is not None and not _same_type(clash.type, codec.type):
        raise ValueError(
            f"extension code {codec.code} already carries {_name(clash.type)}: "
            f"choose another code for {_name(codec.type)}"
        )
    owner = by_type.get(codec.type)
    if owner is not None and owner.code != codec.code:
        raise ValueError(f"{_name(codec.type)} already travels as extension code {owner.code}")
    if clash is not None:
        by_type.pop(clash.type, None)
    add(codec)


def add(codec: Codec) -> None:
    """Enter a codec without any check; for this package's own codes."""
    by_type[codec.type] = codec
    by_code[codec.code] = codec


def load(family: str) -> None:
    """Import the module that enters a family's codecs, once."""
    if family not in _loaded:
        import_module(f"{__package__}.{family}")
        _loaded.add(family)


def for_type(kind: type[Any]) -> Codec | None:
    """Find the codec for values of exactly this type, or of a base whose codec takes subclasses."""
    found = by_type.get(kind)
    if found is not None:
        return found
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        for name, family in FAMILIES.items():
            if root in family.roots and root != "builtins":
                load(name)
    found = by_type.get(kind)
    if found is not None:
        return found
    bases = (by_type[base] for base in kind.__mro__ if base in by_type)
    return next((codec for codec in bases if codec.subclasses), None)


def for_code(code: int) -> Codec | None:
    """Find the codec that reads an extension code, or None for a code that nobody here knows.

    Raises ``WireError`` when the code's codec needs a package that is not installed.
    """
    found = by_code.get(code)
    if found is not None:
        return found
    for name, family in FAMILIES.items():
        if code in family.codes:
            try:
                load(name)
            except ImportError as missing:
                raise WireError(
                    f"this value holds extension {code}, which needs {family.needs or name}: "
                    f"install it here ({missing})"
                ) from missing
            return by_code.get(code)
    return None


def _same_type(one: type[Any], other: type[Any]) -> bool:
    return one is other or (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _name(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
