"""The stamp that lets a worker elsewhere import a function's module: the program's git tree, pushed once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dreamlake.lakeshore.errors import ConfigError, RefusedError
from dreamlake.lakeshore.transport import is_installed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from dreamlake.lakeshore.code import CodeStore
    from dreamlake.lakeshore.dispatch.plane import Plane

_OFF = frozenset({"0", "off", "no", "false"})
_stamps: dict[tuple[str, str], tuple[Any, dict[str, Any]]] = {}


def code_stamp(arm: Mapping[str, Any], plane: Plane) -> dict[str, Any]:
    """Give what goes into an envelope's ``cfg`` for a function with this ``fn`` field: ``{"code": {...}}``, or nothing.

    Nothing: on a local plane, for a function that travels by value or is installed, outside of any git tree, where the
    plane keeps no code, and with ``LAKESHORE_PUSH_CODE=off``: then workers import what they have. A tree is looked at
    again once the file of the function's module has changed. Raises ``DispatchError`` when the plane does not answer.
    """
    if plane.local or arm.get("kind") != "ref" or not hasattr(plane, "announce_code"):
        return {}
    module = sys.modules.get(arm["module"])
    file = getattr(module, "__file__", None)
    if module is None or not file or os.environ.get("LAKESHORE_PUSH_CODE", "").lower() in _OFF:
        return {}
    store = cast("CodeStore", plane)
    key = (store.code_scope, file)
    facts = _facts(file)
    known = _stamps.get(key)
    if known is None or known[0] != facts:
        known = facts, _push(store, module, Path(file), again=known is not None and known[0][0] != facts[0])
        _stamps[key] = known
    return dict(known[1])


def is_stamp_at_hand(arm: Mapping[str, Any], plane: Plane) -> bool:
    """Whether ``code_stamp`` would answer at once, without looking at a git tree or asking the plane."""
    if plane.local or arm.get("kind") != "ref" or not hasattr(plane, "announce_code"):
        return True
    file = getattr(sys.modules.get(arm["module"]), "__file__", None)
    if not file or os.environ.get("LAKESHORE_PUSH_CODE", "").lower() in _OFF:
        return True
    known = _stamps.get((cast("CodeStore", plane).code_scope, file))
    return known is not None and known[0] == _facts(file)


def _facts(file: str) -> tuple[Any, ...]:
    try:
        found = os.stat(file)  # noqa: PTH116 - asked at every submit
    except OSError:
        return None, tuple(sys.path)
    return (found.st_mtime_ns, found.st_size), tuple(sys.path)


def _push(store: CodeStore, module: ModuleType, file: Path, *, again: bool) -> dict[str, Any]:
    from dreamlake.lakeshore.code import push_code  # noqa: PLC0415 - only where code is pushed

    file = file.resolve()
    root = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    if root is None or is_installed(module):
        return {}
    try:
        stamp = push_code(store, root, again=again)
    except (ConfigError, RefusedError) as exc:
        import logging  # noqa: PLC0415 - costs as much as all else, and is hardly ever needed

        logging.getLogger("lakeshore").warning(
            "the code of %s was not pushed, so workers need it already (LAKESHORE_PUSH_CODE=off says so): %s",
            root,
            exc,
        )
        return {}
    base = _import_base(module, file).relative_to(root).as_posix()
    own = "" if base == "." else base
    stamp["code"]["paths"] = list(dict.fromkeys([own, *stamp["code"]["paths"]]))
    return stamp


def _import_base(module: ModuleType, file: Path) -> Path:
    """Give the folder that ``module`` is imported from: above its packages."""
    depth = module.__name__.count(".") + (file.stem == "__init__")
    return file.parents[min(depth, len(file.parents) - 1)]
