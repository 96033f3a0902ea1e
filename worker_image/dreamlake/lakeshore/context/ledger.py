"""The return-your-keys contract: a body that wrote files hands back exactly the keys it wrote."""

from __future__ import annotations

from dreamlake.lakeshore.context.keys import flatten_keys, locate
from dreamlake.lakeshore.errors import KeyContractError

_SHOWN = 5


class Ledger:
    """What one call has written. ``prefix`` is the scope in which the call's own keys are meant.

    A key written inside a nested scope is handed back as seen from the call: ``with scope("a"):
    run.write("x")`` is returned as ``"a/x"``.
    """

    __slots__ = ("_handed_back", "_written", "prefix")

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._written: dict[str, None] = {}  # ordered set of locations
        self._handed_back: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._written)

    def record(self, location: str) -> None:
        """Note that the call has asked to write ``location``."""
        self._written[location] = None

    @property
    def locations(self) -> list[str]:
        """Locations in the order of their first write."""
        return list(self._written)

    def check_return(self, body: str, value: object) -> None:
        """Raise ``KeyContractError`` unless a written file's keys, all of them, are what was returned."""
        if self._written:
            self._hand_back(body, value, "return")
            self._check_complete(body, "return")

    def check_yield(self, body: str, value: object) -> None:
        """Raise ``KeyContractError`` unless, from the first write on, ``value`` is made of written keys."""
        if self._written:
            self._hand_back(body, value, "yield")

    def check_end(self, body: str, value: object) -> None:
        """Raise ``KeyContractError`` when a stream ended (returning ``value``) with keys not handed back."""
        if self._written:
            if value is not None:
                self._hand_back(body, value, "yield")
            self._check_complete(body, "yield")

    def _hand_back(self, body: str, value: object, verb: str) -> None:
        keys = flatten_keys(value)
        if keys is None:
            raise KeyContractError(
                f"{body} wrote {self._written_text()} but {verb}ed {_type_text(value)}: "
                f"{verb} the keys it wrote, as a str, list or dict: {verb} {self._advice()}"
            )
        handed = {locate(self.prefix, key): key for key in keys}
        unknown = [key for location, key in handed.items() if location not in self._written]
        if unknown:
            raise KeyContractError(
                f"{body} {verb}ed {_list_text(unknown)} but wrote {self._written_text()}: {verb} exactly the "
                f"keys it wrote ({verb} {self._advice()}), or write the others with run.write(key) too"
            )
        self._handed_back.update(handed)

    def _check_complete(self, body: str, verb: str) -> None:
        left = [self._key(location) for location in self._written if location not in self._handed_back]
        if left:
            raise KeyContractError(
                f"{body} wrote {_list_text(left)} but did not {verb} {'it' if len(left) == 1 else 'them'}: "
                f"{verb} every key it wrote ({verb} {self._advice()})"
            )

    def _key(self, location: str) -> str:
        """Give the key that leads to ``location`` from the call's scope."""
        here = self.prefix.split("/") if self.prefix else []
        there = location.split("/")
        shared = 0
        while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
            shared += 1
        return "/".join([".."] * (len(here) - shared) + there[shared:])

    def _written_text(self) -> str:
        return _list_text([self._key(location) for location in self._written])

    def _advice(self) -> str:
        keys = [self._key(location) for location in self._written]
        if len(keys) == 1:
            return repr(keys[0])
        return "[" + ", ".join(repr(key) for key in keys[:_SHOWN]) + (", ...]" if len(keys) > _SHOWN else "]")


def _list_text(keys: list[str]) -> str:
    shown = ", ".join(repr(key) for key in keys[:_SHOWN])
    return shown if len(keys) <= _SHOWN else f"{shown} and {len(keys) - _SHOWN} more"


def _type_text(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
