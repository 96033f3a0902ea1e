"""Keys: the relative POSIX paths by which bodies name their files, and where they lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dreamlake.lakeshore.errors import KeyContractError

if TYPE_CHECKING:
    from collections.abc import Callable

Keys: TypeAlias = "str | list[Keys] | tuple[Keys, ...] | dict[str, Keys]"
"""One key, or keys in lists and dicts (a dict's values are the keys)."""

_T = TypeVar("_T")


def locate(prefix: str, key: str) -> str:
    """Give the location of ``key``, seen from the scope ``prefix``, as a path below the root.

    ``..`` climbs towards the root and never out of it. Raises ``KeyContractError``.
    """
    parts = prefix.split("/") if prefix else []
    for part in _parts(key):
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            raise KeyContractError(
                f"key {key!r} climbs out of the root (the scope here is {prefix or '.'!r}): "
                "take away '..' steps, or open the scope with a root further up"
            )
    return "/".join(parts)


def locate_file(prefix: str, key: str) -> str:
    """Like ``locate``, for a key that must name something of its own: not a scope around it."""
    location = locate(prefix, key)
    if not location or f"{prefix}/".startswith(f"{location}/"):
        raise KeyContractError(
            f"key {key!r} names a scope and no file in it: name a file, for example 'out.txt'"
        )
    return location


def _parts(key: str) -> list[str]:
    if not isinstance(key, str):
        raise KeyContractError(
            f"a key is a str, not {type(key).__name__} ({key!r}): "
            "pass a relative path such as 'frames/0001.png'"
        )
    if key.startswith("/"):
        raise KeyContractError(
            f"key {key!r} is absolute: pass {key.lstrip('/') or 'out.txt'!r}, "
            "which is resolved in the scope's root"
        )
    if "\\" in key:
        raise KeyContractError(f"key {key!r} has a backslash: write {key.replace(chr(92), '/')!r}")
    if "\0" in key:
        raise KeyContractError(f"key {key!r} has a NUL character: leave it out")
    return [part for part in key.split("/") if part not in ("", ".")]


def map_keys(keys: Keys, apply: Callable[[str], _T]) -> object:
    """Apply a function to each key, keeping the shape of lists and dicts."""
    if isinstance(keys, dict):
        return {name: map_keys(key, apply) for name, key in keys.items()}
    if isinstance(keys, list | tuple):
        return [map_keys(key, apply) for key in keys]
    return apply(keys)


def flatten_keys(value: object) -> list[str] | None:
    """List the keys that ``value`` is made of; None when it is not made of keys alone."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return None
    found: list[str] = []
    for item in value:
        inner = flatten_keys(item)
        if inner is None:
            return None
        found += inner
    return found
